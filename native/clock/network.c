/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/network.h"

#include <stdio.h>
#include <stdlib.h>

double offbeat_random(uint64_t *seed) {
    /* Steele, Lea and Flood's SplitMix64: every seed is a good one. */
    uint64_t z = (*seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* -ln(1 - x), without the mathematical library: halve the argument until a short series does. */
static double exponential(uint64_t *seed) {
    double rest = 1 - offbeat_random(seed), sum = 0;
    int halvings = 0;
    while (rest < 0.5) {
        rest *= 2;
        halvings++;
    }
    double y = (1 - rest) / (1 + rest), power = y;
    for (int i = 1; i < 20; i += 2, power *= y * y)
        sum += 2 * power / i;
    return sum + 0.69314718055994531 * halvings;
}

static int64_t delay_ns(offbeat_network *network, double least_ns) {
    const offbeat_delays *delays = &network->delays;
    double taken_ns = least_ns + delays->jitter_ns * exponential(&network->seed);
    if (offbeat_random(&network->seed) < delays->tail)
        taken_ns += delays->jitter_ns * (1 / (offbeat_random(&network->seed) + 1e-3) - 0.99);
    if (offbeat_random(&network->seed) < delays->preempted)
        taken_ns += delays->preemption_ns * offbeat_random(&network->seed);
    return (int64_t)taken_ns;
}

offbeat_network offbeat_network_create(int size, const offbeat_method *method, offbeat_delays delays,
                                       uint64_t seed) {
    offbeat_network network = {.size = size, .delays = delays, .resolution_ns = 1, .seed = seed};
    network.processes = calloc((size_t)size, sizeof *network.processes);
    if (network.processes == NULL) {
        fprintf(stderr, "There is no memory for a model of %d processes.\n", size);
        exit(1);
    }
    for (int rank = 0; rank < size; rank++) {
        offbeat_stage everybody = {.is_star = method->is_star, .index = rank, .count = size};
        network.processes[rank].order.stages[0] = everybody;
        offbeat_pupil_init(&network.processes[rank].pupil, method, 1);
    }
    return network;
}

void offbeat_network_free(offbeat_network *network) {
    free(network->processes);
    network->processes = NULL;
}

/* From -1 to 1, half of the time one of the two. */
static double any_or_most(uint64_t *seed) {
    double share = 4 * offbeat_random(seed) - 2;
    if (share > 1)
        return 1;
    return share < -1 ? -1 : share;
}

void offbeat_network_bend(offbeat_network *network, double drift_ppm, double wander_ppm_per_s) {
    for (int rank = 0; rank < network->size; rank++) {
        offbeat_virtual *bend = &network->processes[rank].bend;
        double period_s = 3 + 50 * offbeat_random(&network->seed);
        bend->offset_ns = (int64_t)((offbeat_random(&network->seed) - 0.5) * 1e15);
        bend->wander_ppm = wander_ppm_per_s * period_s / 4 * any_or_most(&network->seed);
        bend->wander_period_ns = wander_ppm_per_s > 0 ? period_s * 1e9 : 0;
        double most_ppm = bend->wander_ppm < 0 ? -bend->wander_ppm : bend->wander_ppm;
        bend->drift_ppm = any_or_most(&network->seed) * (drift_ppm - most_ppm);
    }
}

void offbeat_network_coarsen(offbeat_network *network, int64_t resolution_ns) {
    network->resolution_ns = resolution_ns;
    for (int rank = 0; rank < network->size; rank++)
        network->processes[rank].pupil.resolution_ns = resolution_ns;
}

/* What a process reads on its clock at a true time: rounded down or up, whatever is worse today. */
static int64_t local_ns(const offbeat_network *network, const offbeat_modelled *process, int64_t at_ns) {
    const int64_t resolution_ns = network->resolution_ns;
    uint64_t chance = (uint64_t)(at_ns / resolution_ns) + (uint64_t)(process - network->processes);
    int64_t fine_ns = offbeat_virtual_ns(&process->bend, at_ns);
    int64_t beyond_ns = fine_ns % resolution_ns;
    int64_t down_ns = fine_ns - (beyond_ns < 0 ? beyond_ns + resolution_ns : beyond_ns);
    return offbeat_random(&chance) < 0.5 ? down_ns : down_ns + resolution_ns;
}

/* One ping-pong; `at_ns` goes on to the true time of its end. */
static offbeat_exchange exchange_of(offbeat_network *network, const offbeat_modelled *learner,
                                    const offbeat_modelled *teacher, int64_t *at_ns) {
    offbeat_exchange exchange = {.sent_ns = local_ns(network, learner, *at_ns)};
    *at_ns += delay_ns(network, network->delays.there_ns);
    exchange.answered_local_ns = local_ns(network, teacher, *at_ns);
    exchange.answered_ns = offbeat_model_global_ns(&teacher->pupil.model, exchange.answered_local_ns);
    exchange.answered_error_ns =
        offbeat_pupil_error_ns(&teacher->pupil, exchange.answered_local_ns, exchange.answered_local_ns);
    *at_ns += delay_ns(network, network->delays.back_ns);
    exchange.received_ns = local_ns(network, learner, *at_ns);
    network->exchanges++;
    return exchange;
}

static void hold_lesson(offbeat_network *network, offbeat_modelled *learner, offbeat_modelled *teacher) {
    offbeat_lesson lesson;
    const offbeat_opening opening = offbeat_pupil_opening(&teacher->pupil);
    int64_t at_ns = learner->free_ns > teacher->free_ns ? learner->free_ns : teacher->free_ns;
    at_ns += delay_ns(network, network->delays.back_ns);
    offbeat_lesson_begin(&lesson, &learner->pupil, &opening);
    while (offbeat_lesson_wants_more(&lesson)) {
        offbeat_exchange exchange = exchange_of(network, learner, teacher, &at_ns);
        offbeat_lesson_take(&lesson, &exchange);
    }
    offbeat_lesson_end(&lesson);
    learner->free_ns = at_ns;
    teacher->free_ns = at_ns + delay_ns(network, network->delays.there_ns);
}

/* Holds the lessons that a process and those it meets are ready for. @return the peer that may go on, or -1
 */
static int advance(offbeat_network *network, int rank) {
    offbeat_modelled *one = &network->processes[rank];
    offbeat_meeting meeting, other;
    if (!offbeat_order_meeting(&one->order, one->next, &meeting))
        return -1;
    offbeat_modelled *peer = &network->processes[meeting.peer];
    if (!offbeat_order_meeting(&peer->order, peer->next, &other) || other.peer != rank ||
        other.teaches == meeting.teaches)
        return -1;
    hold_lesson(network, meeting.teaches ? peer : one, meeting.teaches ? one : peer);
    one->next++;
    peer->next++;
    return meeting.peer;
}

int64_t offbeat_network_sync(offbeat_network *network, int64_t at_ns) {
    int64_t done_ns = at_ns;
    for (int rank = 0; rank < network->size; rank++) {
        network->processes[rank].next = 0;
        network->processes[rank].free_ns = at_ns;
    }
    offbeat_pupil_be_reference(&network->processes[0].pupil,
                               local_ns(network, &network->processes[0], at_ns));
    for (int is_moving = 1; is_moving;) {
        is_moving = 0;
        for (int rank = 0; rank < network->size; rank++)
            while (advance(network, rank) >= 0)
                is_moving = 1;
    }
    for (int rank = 0; rank < network->size; rank++)
        if (network->processes[rank].free_ns > done_ns)
            done_ns = network->processes[rank].free_ns;
    return done_ns;
}

int64_t offbeat_network_error_ns(const offbeat_network *network, int rank, int64_t at_ns) {
    const offbeat_modelled *process = &network->processes[rank];
    return offbeat_model_global_ns(&process->pupil.model, local_ns(network, process, at_ns)) -
           offbeat_virtual_ns(&network->processes[0].bend, at_ns);
}

int64_t offbeat_network_bound_ns(const offbeat_network *network, int rank, int64_t at_ns) {
    const offbeat_modelled *process = &network->processes[rank];
    return offbeat_model_bound_ns(&process->pupil.model, local_ns(network, process, at_ns));
}
