/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/executor.h"

#include "collectives/collectives.h"
#include "collectives/layout.h"
#include "control/p2p_collectives.h"
#include "programs/exchange.h"
#include "work/work.h"

#include <stdlib.h>

enum { WARM_UPS = 2 };

/* What a step needs; only one of exchange and call is not NULL. */
typedef struct prepared_step {
    program_exchange *exchange;
    offbeat_call *call;
    MPI_Comm comm; /* of a collective */
} prepared_step;

struct program_executor {
    const program_plan *plan;
    offbeat_work *work; /* NULL if no step has memory traffic */
    prepared_step *steps;
};

static int needs_arrays(const program_plan *plan) {
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].memory_bytes > 0)
            return 1;
    return 0;
}

/* A call that moves no data has a size that is allowed, and counts of 0. */
static const char *prepare_call(const program_collective *collective, MPI_Comm comm, offbeat_call **call) {
    const int moves_nothing = collective->bytes == 0;
    const offbeat_variant variant = {.counts = moves_nothing ? OFFBEAT_COUNTS_NONE : OFFBEAT_COUNTS_EVEN};
    offbeat_request request = {
        .collective = collective->collective,
        .bytes = (size_t)collective->bytes,
        .datatype = collective->datatype,
        .op = collective->op,
        .root = collective->root,
        .comm = comm,
    };
    const char *why = NULL;
    if (moves_nothing)
        request.bytes = sizeof(double);
    int code = offbeat_call_create_variant(&request, &variant, call, &why);
    if (code != MPI_SUCCESS && moves_nothing) { /* a barrier has no size at all */
        request.bytes = 0;
        code = offbeat_call_create(&request, call, &why);
    }
    return code == MPI_SUCCESS ? NULL : why;
}

static const char *prepare_step(const program_step *step, prepared_step *preparation) {
    if (step->kind == PROGRAM_COLLECTIVE)
        return prepare_call(&step->call, preparation->comm, &preparation->call);
    if (step->kind != PROGRAM_EXCHANGE)
        return NULL;
    preparation->exchange = program_exchange_create(step);
    return preparation->exchange ? NULL : "no memory for the messages of an exchange";
}

/* The first step that is a collective on the same communicators as this one, which may be itself. */
static int first_on_same_comm(const program_plan *plan, int index) {
    const program_collective *call = &plan->steps[index].call;
    for (int i = 0; i < index; i++)
        if (plan->steps[i].kind == PROGRAM_COLLECTIVE &&
            plan->steps[i].call.communicators == call->communicators &&
            plan->steps[i].call.stride == call->stride)
            return i;
    return index;
}

/* Whether the communicator of a step was created for it: it is not MPI_COMM_WORLD, and no earlier step's. */
static int has_own_comm(const program_plan *plan, int index) {
    const program_step *step = &plan->steps[index];
    return step->kind == PROGRAM_COLLECTIVE && step->call.communicators > 1 &&
           first_on_same_comm(plan, index) == index;
}

/* Creates a communicator of each layout. Collective. @return NULL, or the same error message everywhere */
static const char *create_comms(program_executor *executor) {
    const program_plan *plan = executor->plan;
    for (int i = 0; i < plan->step_count; i++)
        executor->steps[i].comm = MPI_COMM_NULL;
    for (int i = 0; i < plan->step_count; i++) {
        const program_collective *call = &plan->steps[i].call;
        prepared_step *step = &executor->steps[i];
        offbeat_layout layout;
        if (plan->steps[i].kind != PROGRAM_COLLECTIVE)
            continue;
        const char *why = offbeat_layout_divide(plan->ranks, call->communicators, call->stride, &layout);
        if (why)
            return why;
        step->comm = executor->steps[first_on_same_comm(plan, i)].comm;
        if (call->communicators == 1)
            step->comm = MPI_COMM_WORLD;
        else if (has_own_comm(plan, i))
            step->comm = offbeat_layout_create_comm(&layout);
        if (step->comm == MPI_COMM_NULL)
            offbeat_fatal("a communicator of a collective could not be created");
    }
    return NULL;
}

/* Prepares the memory of all steps. @return NULL, or an error message */
static const char *prepare(program_executor *executor) {
    const program_plan *plan = executor->plan;
    size_t buffered_bytes = 0;
    const char *why = create_comms(executor);
    if (why)
        return why;
    if (needs_arrays(plan)) {
        executor->work = offbeat_work_create(plan->buffer_bytes ? (size_t)plan->buffer_bytes
                                                                : offbeat_work_default_bytes());
        if (!executor->work)
            return "no memory for the arrays of work; take smaller ones with --buffer, or fewer processes";
    }
    for (int i = 0; i < plan->step_count; i++) {
        why = prepare_step(&plan->steps[i], &executor->steps[i]);
        if (why)
            return why;
        if (executor->steps[i].exchange)
            buffered_bytes += program_exchange_buffered_bytes(executor->steps[i].exchange);
    }
    return program_buffer_attach(buffered_bytes) == 0 ? NULL : "no memory for buffered messages";
}

program_executor *program_executor_create(const program_plan *plan, const char **why) {
    program_executor *executor = calloc(1, sizeof *executor);
    if (executor) {
        executor->plan = plan;
        executor->steps = calloc((size_t)plan->step_count + 1, sizeof *executor->steps);
    }
    *why = executor && executor->steps ? prepare(executor) : "no memory for the steps";
    if (!*why)
        return executor;
    program_executor_free(executor);
    return NULL;
}

void program_executor_free(program_executor *executor) {
    if (!executor)
        return;
    program_buffer_detach();
    for (int i = 0; executor->steps && i < executor->plan->step_count; i++) {
        program_exchange_free(executor->steps[i].exchange);
        offbeat_call_free(&executor->steps[i].call);
        if (has_own_comm(executor->plan, i) && executor->steps[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&executor->steps[i].comm);
    }
    free(executor->steps);
    offbeat_work_free(executor->work);
    free(executor);
}

static void work(const program_executor *executor, const program_step *step, int64_t delay_ns) {
    offbeat_work_busy(step->time_ns + delay_ns);
    if (step->memory_bytes > 0 || step->flops > 0)
        offbeat_work_run(executor->work, step->memory_bytes, step->flops);
}

/* Executes a step. @param delay_ns of work and of steps for delays */
static void execute(const program_executor *executor, int index, int64_t delay_ns) {
    const program_step *step = &executor->plan->steps[index];
    const prepared_step *preparation = &executor->steps[index];
    if (step->kind == PROGRAM_EXCHANGE)
        program_exchange_run(preparation->exchange);
    else if (step->kind == PROGRAM_COLLECTIVE)
        offbeat_call_run(preparation->call);
    else
        work(executor, step, delay_ns);
}

void program_executor_warm_up(program_executor *executor) {
    for (int i = 0; i < WARM_UPS; i++)
        for (int step = 0; step < executor->plan->step_count; step++)
            execute(executor, step, 0);
}

/* A common start of all processes. @return its deadline on the shared clock */
static int64_t start_together(offbeat_start_context *starts) {
    offbeat_start start;
    if (offbeat_harmonize(starts, 0, &start) != MPI_SUCCESS)
        offbeat_fatal("an MPI error in a harmonised start");
    return start.deadline_ns;
}

void program_executor_alone(program_executor *executor, offbeat_start_context *starts,
                            const offbeat_clock *clock, const program_record *record) {
    int64_t *taken_ns = record->alone_ns;
    for (int i = 0; i < executor->plan->alone; i++)
        for (int step = 0; step < executor->plan->step_count; step++) {
            if (!program_step_is_phase(&executor->plan->steps[step]))
                continue;
            const int64_t begin_ns = start_together(starts);
            execute(executor, step, 0);
            *taken_ns++ = offbeat_clock_global_ns(clock, offbeat_clock_local_ns(clock)) - begin_ns;
        }
}

/* Executes one iteration, which is counted from 0. @return the time in communication */
static int64_t iterate(program_executor *executor, const offbeat_clock *clock, program_delays *delays,
                       int64_t iteration) {
    int64_t communication_ns = 0;
    MPI_Pcontrol(PROGRAM_MARK_ITERATION);
    for (int i = 0; i < executor->plan->step_count; i++) {
        const program_step *step = &executor->plan->steps[i];
        if ((iteration + 1) % step->period != 0)
            continue;
        const int is_communication = step->kind == PROGRAM_EXCHANGE || step->kind == PROGRAM_COLLECTIVE;
        const int64_t delay_ns = program_delays_take(delays, iteration, i);
        const int64_t begin_ns = is_communication ? offbeat_clock_local_ns(clock) : 0;
        execute(executor, i, delay_ns);
        if (is_communication)
            communication_ns += offbeat_clock_local_ns(clock) - begin_ns;
    }
    return communication_ns;
}

/* The same instant on both clocks. */
static void read_clocks(const offbeat_clock *clock, int64_t *local_ns, int64_t *global_ns) {
    *local_ns = offbeat_clock_local_ns(clock);
    *global_ns = offbeat_clock_global_ns(clock, *local_ns);
}

void program_executor_iterate(program_executor *executor, offbeat_start_context *starts,
                              const offbeat_clock *clock, program_delays *delays,
                              const program_record *record) {
    program_record_header *header = record->header;
    header->start_ns = start_together(starts);
    MPI_Pcontrol(PROGRAM_RESUME_TRACE);
    read_clocks(clock, &header->begin_local_ns, &header->begin_global_ns);
    header->bound_ns = offbeat_clock_bound_ns(clock, header->begin_local_ns);
    for (int64_t i = 0; i < executor->plan->iterations; i++) {
        const int64_t communication_ns = iterate(executor, clock, delays, i);
        program_record_iteration(record, i, offbeat_clock_local_ns(clock), communication_ns);
    }
    MPI_Pcontrol(PROGRAM_PAUSE_TRACE);
}
