/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/model.h"

#include "clock/limits.h"

offbeat_model offbeat_model_of_reference(int64_t at_ns, int64_t resolution_ns) {
    offbeat_model model = {
        .is_shared = 1, .at_ns = at_ns, .resolution_ns = resolution_ns, .possible = {.count = 1}};
    return model;
}

static int64_t nearest(double number) {
    return (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
}

int64_t offbeat_model_global_ns(const offbeat_model *model, int64_t local_ns) {
    double elapsed_ns = (double)(local_ns - model->at_ns);
    return local_ns + model->offset_ns + nearest(model->line.offset_ns + model->line.slope * elapsed_ns);
}

int64_t offbeat_model_local_ns(const offbeat_model *model, int64_t global_ns) {
    double ahead_ns = (double)(global_ns - model->at_ns - model->offset_ns) -
                      model->line.offset_ns; /* of the line at at_ns */
    int64_t local_ns = model->at_ns + nearest(ahead_ns / (1 + model->line.slope));
    while (offbeat_model_global_ns(model, local_ns) >= global_ns)
        local_ns--;
    while (offbeat_model_global_ns(model, local_ns) < global_ns)
        local_ns++;
    return local_ns;
}

static double magnitude(double number) {
    return number < 0 ? -number : number;
}

int64_t offbeat_model_bound_ns(const offbeat_model *model, int64_t local_ns) {
    if (model->is_shared)
        return 0;
    const double elapsed_ns = (double)(local_ns - model->at_ns);
    double reach_ns = offbeat_polygon_reach(&model->possible, model->line, elapsed_ns) +
                      OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
    double drifted_ns = offbeat_polygon_reach(&model->possible, model->line, 0) +
                        (OFFBEAT_DRIFT_LIMIT + magnitude(model->line.slope)) * magnitude(elapsed_ns);
    if (drifted_ns < reach_ns)
        reach_ns = drifted_ns;
    return (int64_t)reach_ns + 2 + model->resolution_ns; /* rounded up; the estimate is rounded, too */
}
