/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the harmonised start. All processes are on one machine and read one physical clock, so that the
 * test knows when each process really left, whatever virtual offsets it sets.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "testing/fault_injection.h"
#include "testing/mpi_assert.h"
#include "testing/virtual_clocks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARTS = 5 };
static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000;

/* A clock and a start context on a communicator. */
typedef struct fixture {
    MPI_Comm comm;
    int rank, size;
    offbeat_clock *clock;
    offbeat_start_context *context;
    int64_t reference_ns; /* shared clock minus physical clock */
} fixture;

static fixture set_up(MPI_Comm clock_comm, MPI_Comm comm, int yield) {
    fixture s = {.comm = comm};
    MPI_Comm_rank(comm, &s.rank);
    MPI_Comm_size(comm, &s.size);
    s.reference_ns = first_of(own_virtual_offset_ns(), clock_comm);
    mpi_assert_success(offbeat_clock_create(clock_comm, &s.clock), "offbeat_clock_create");
    mpi_assert_success(offbeat_start_context_create(s.clock, comm, yield, &s.context),
                       "offbeat_start_context_create");
    return s;
}

static void tear_down(fixture *s) {
    mpi_assert_success(offbeat_start_context_free(&s->context), "offbeat_start_context_free");
    mpi_assert(s->context == NULL, "offbeat_start_context_free left the pointer set.");
    mpi_assert_success(offbeat_start_context_free(&s->context), "offbeat_start_context_free of NULL");
    mpi_assert_success(offbeat_clock_free(&s->clock), "offbeat_clock_free");
}

/* Starts, and checks what must hold for every start. */
static offbeat_start checked_start(const fixture *s, int64_t delay_ns) {
    offbeat_start start;
    int64_t entered_ns = physical_now_ns();
    mpi_assert_success(offbeat_harmonize(s->context, delay_ns, &start), "offbeat_harmonize");
    int64_t left_ns = physical_now_ns();
    int64_t global_ns = offbeat_clock_global_ns(s->clock, offbeat_clock_local_ns(s->clock));
    mpi_assert(start.planned_ns == start.deadline_ns + delay_ns,
               "The planned time is not the deadline plus the delay.");
    mpi_assert(global_ns >= start.planned_ns, "A process left before its planned time on the shared clock.");
    mpi_assert(
        left_ns >= start.planned_ns - s->reference_ns - start.bound_ns,
        "A process left %lld ns before its planned time by the physical clock, the clock's bound is %lld ns.",
        (long long)(start.planned_ns - s->reference_ns - left_ns), (long long)start.bound_ns);
    int64_t tolerance_ns = offbeat_start_context_tolerance_ns(s->context);
    mpi_assert((start.verdict == OFFBEAT_ON_TIME) == (start.overshoot_ns <= tolerance_ns),
               "A process that %s has an overshoot of %lld ns, the tolerance is %lld ns.",
               offbeat_verdict_text(start.verdict), (long long)start.overshoot_ns, (long long)tolerance_ns);
    mpi_assert(start.verdict == OFFBEAT_ON_TIME ||
                   (start.verdict == OFFBEAT_CAME_LATE) == (start.margin_ns + delay_ns < 0),
               "Of a process that began to wait %lld ns before its planned time the verdict is that it %s.",
               (long long)start.margin_ns + delay_ns, offbeat_verdict_text(start.verdict));
    mpi_assert(first_of(start.slack_ns, s->comm) == start.slack_ns, "Two processes have different slacks.");
    mpi_assert(start.overshoot_ns >= 0, "The overshoot is negative: %lld ns.", (long long)start.overshoot_ns);
    mpi_assert(start.margin_ns >= 0 || start.margin_ns + start.overshoot_ns + delay_ns >= 0,
               "A process came %lld ns late, but its overshoot is only %lld ns.", (long long)-start.margin_ns,
               (long long)start.overshoot_ns);
    mpi_assert(first_of(start.deadline_ns, s->comm) == start.deadline_ns,
               "Two processes have different deadlines.");
    int64_t last_entered_ns = largest_of(entered_ns, s->comm);
    int64_t root_bound_ns = first_of(start.bound_ns, s->comm);
    mpi_assert(start.deadline_ns - s->reference_ns + root_bound_ns >= last_entered_ns,
               "The deadline is before the last process's arrival.");
    mpi_assert(left_ns >= last_entered_ns, "A process left before all had arrived.");
    return start;
}

/* Starts without delays, with a different delay on each process, and with a process that arrives 10 ms after
 * the others. */
static void starts_are_synchronised_on(MPI_Comm clock_comm, MPI_Comm comm, int yield) {
    int calls_before = collectives_called();
    fixture s = set_up(clock_comm, comm, yield);
    for (int i = 0; i < STARTS; i++)
        checked_start(&s, i % 2 == 0 ? 0 : s.rank * 300 * MICROSECOND);
    if (s.rank == s.size - 1)
        sleep_ns(10 * MILLISECOND);
    checked_start(&s, 0);
    tear_down(&s);
    mpi_assert(collectives_called() == calls_before, "The start called %d collectives.",
               collectives_called() - calls_before);
}

static void every_kind_of_communicator_can_start(int yield) {
    int rank, size;
    MPI_Comm comm, other_comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    starts_are_synchronised_on(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    starts_are_synchronised_on(MPI_COMM_SELF, MPI_COMM_SELF, yield);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    starts_are_synchronised_on(MPI_COMM_WORLD, comm, yield);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    starts_are_synchronised_on(comm, comm, yield);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, rank, &comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &other_comm);
    if (comm != MPI_COMM_NULL)
        starts_are_synchronised_on(comm, comm, yield);
    if (other_comm != MPI_COMM_NULL) {
        starts_are_synchronised_on(other_comm, other_comm, yield);
        MPI_Comm_free(&other_comm);
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static void a_context_outlives_its_communicator(int yield) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fixture s = set_up(comm, comm, yield);
    MPI_Comm_free(&comm);
    s.comm = MPI_COMM_WORLD;
    checked_start(&s, 0);
    tear_down(&s);
}

/* The last rank is a leaf of the tree: the deadline is the only message it receives in a start. */
static void a_late_process_is_reported(int yield) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int is_late = s.rank == s.size - 1 && s.size > 1;
    inject_sleep_after_receive(is_late ? 60 * MILLISECOND : 0);
    offbeat_start start = checked_start(&s, 0);
    mpi_assert(!is_late || start.margin_ns < 0,
               "A process that slept past the deadline has a margin of %lld ns.", (long long)start.margin_ns);
    mpi_assert(!is_late || start.overshoot_ns >= -start.margin_ns,
               "A late process has an overshoot of %lld ns.", (long long)start.overshoot_ns);
    mpi_assert(!is_late || start.verdict == OFFBEAT_CAME_LATE, "The verdict on a late process is that it %s.",
               offbeat_verdict_text(start.verdict));
    inject_sleep_after_receive(is_late ? 60 * MILLISECOND : 0);
    start = checked_start(&s, 200 * MILLISECOND);
    mpi_assert(!is_late || start.margin_ns < 0, "With a delay the margin does not refer to the deadline.");
    tear_down(&s);
}

static void assert_lost_core(const offbeat_start *start) {
    mpi_assert(start->overshoot_ns >= 50 * MILLISECOND,
               "A process that lost its core for 200 ms while it waited has an overshoot of %lld ns.",
               (long long)start->overshoot_ns);
    mpi_assert(start->verdict == OFFBEAT_LOST_CORE,
               "The verdict on a process that lost its core while it waited is that it %s.",
               offbeat_verdict_text(start->verdict));
}

static void a_core_lost_while_waiting_is_reported(int yield) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int is_late = s.rank == s.size - 1 && s.size > 1;
    if (is_late)
        inject_signal_after_receive(20 * MILLISECOND, 200 * MILLISECOND);
    offbeat_start start = checked_start(&s, 100 * MILLISECOND);
    if (is_late)
        assert_lost_core(&start);
    tear_down(&s);
}

/* One process receives each deadline later than the others.
 * @return the largest need of any start: from choosing the deadline until a process received it */
static int64_t starts_with_a_slow_process(const fixture *s, int starts, int64_t extra_ns) {
    int64_t need_ns = 0;
    for (int i = 0; i < starts; i++) {
        offbeat_start start;
        inject_sleep_after_receive(s->rank == s->size - 1 && s->size > 1 ? extra_ns : 0);
        mpi_assert_success(offbeat_harmonize(s->context, 0, &start), "offbeat_harmonize");
        int64_t own_ns = start.slack_ns - start.margin_ns;
        need_ns = own_ns > need_ns ? own_ns : need_ns;
    }
    return largest_of(need_ns, s->comm);
}

static void the_slack_grows_in_a_burst_and_is_small_again_ten_starts_later(int yield) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    starts_with_a_slow_process(&s, 12, 20 * MILLISECOND);
    int64_t slack_ns = offbeat_start_context_slack_ns(s.context);
    mpi_assert(s.rank != 0 || s.size == 1 || slack_ns == 50 * MILLISECOND,
               "After 12 starts that needed 20 ms and more the slack is %lld ns.", (long long)slack_ns);
    /* On a machine with other load, starts need long without a burst. */
    int64_t need_ns = starts_with_a_slow_process(&s, 10, 0);
    slack_ns = offbeat_start_context_slack_ns(s.context);
    mpi_assert(slack_ns < 20 * MILLISECOND || slack_ns <= 3 * need_ns + MICROSECOND,
               "Ten starts after a burst, which needed %lld ns, the slack is still %lld ns.",
               (long long)need_ns, (long long)slack_ns);
    mpi_assert(s.rank == 0 || slack_ns == 0, "A process that sets no deadline has a slack.");
    tear_down(&s);
}

static void a_missed_start_does_not_synchronise_the_clocks(int yield) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t before_ns = offbeat_clock_age_ns(s.clock), began_ns = physical_now_ns();
    starts_with_a_slow_process(&s, 4, 60 * MILLISECOND);
    int64_t aged_ns = offbeat_clock_age_ns(s.clock) - before_ns, passed_ns = physical_now_ns() - began_ns;
    mpi_assert(aged_ns > passed_ns / 2, "The clocks were synchronised because of missed starts.");
    tear_down(&s);
}

/* The bound of one physical clock does not grow. */
static void clocks_are_synchronised_when_their_bound_has_grown(int yield) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t length_ns = first_of(offbeat_clock_sync_facts(s.clock).duration_ns, s.comm);
    int64_t best_ns = offbeat_clock_sync_facts(s.clock).bound_ns, has_grown = 0;
    int64_t is_shared = !largest_of(!offbeat_clock_is_shared(s.clock), s.comm);
    /* A sync under load leaves a large bound, which takes seconds to double. */
    for (int i = 0; i < 5 && !has_grown && (i == 0 || !is_shared); i++) {
        sleep_ns((length_ns > 10 * MILLISECOND ? 40 * length_ns : 400 * MILLISECOND) << i);
        has_grown = largest_of(offbeat_clock_now(s.clock).bound_ns > 2 * best_ns + 500, s.comm);
    }
    int64_t began_ns = physical_now_ns(), age_ns = offbeat_clock_age_ns(s.clock);
    mpi_assert(has_grown != is_shared, "After %lld ns without a sync a bound %s.", (long long)age_ns,
               has_grown ? "has grown although all clocks are one physical clock" : "has not grown");
    checked_start(&s, 0);
    int is_synced = offbeat_clock_age_ns(s.clock) < age_ns + (physical_now_ns() - began_ns) / 2;
    mpi_assert(is_synced == has_grown, "A start %lld ns after the last sync %s.", (long long)age_ns,
               is_synced ? "synchronised the clocks" : "did not synchronise the clocks");
    checked_start(&s, 0);
    tear_down(&s);
}

/* Without OFFBEAT_YIELD. The slack then includes time for the scheduler. */
static void oversubscription_is_detected(void) {
    const char *setting = getenv("OFFBEAT_YIELD");
    char *saved_setting = setting != NULL ? strdup(setting) : NULL;
    unsetenv("OFFBEAT_YIELD");
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, OFFBEAT_YIELD_IF_OVERSUBSCRIBED);
    mpi_assert(s.rank != 0 || s.size <= sysconf(_SC_NPROCESSORS_ONLN) ||
                   offbeat_start_context_slack_ns(s.context) >= 50 * MICROSECOND,
               "%d processes on fewer cores start with a slack of %lld ns.", s.size,
               (long long)offbeat_start_context_slack_ns(s.context));
    checked_start(&s, 0);
    tear_down(&s);
    if (saved_setting != NULL)
        setenv("OFFBEAT_YIELD", saved_setting, 1);
    free(saved_setting);
}

static void bad_input_gives_an_error_code(void) {
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, 1);
    offbeat_start start;
    offbeat_start_context *other_context = NULL;
    mpi_assert(offbeat_harmonize(s.context, -1, &start) == MPI_ERR_ARG, "A negative delay was accepted.");
    mpi_assert(offbeat_harmonize(s.context, 0, NULL) == MPI_ERR_ARG, "A NULL start was accepted.");
    mpi_assert(offbeat_harmonize(NULL, 0, &start) == MPI_ERR_ARG, "A NULL context was accepted.");
    mpi_assert(offbeat_start_context_create(NULL, s.comm, 0, &other_context) == MPI_ERR_ARG,
               "A NULL clock was accepted.");
    mpi_assert(offbeat_start_context_create(s.clock, MPI_COMM_NULL, 0, &other_context) == MPI_ERR_COMM,
               "MPI_COMM_NULL was accepted.");
    if (s.size > 1)
        mpi_assert(offbeat_start_context_create(s.clock, MPI_COMM_SELF, 0, &other_context) == MPI_ERR_COMM,
                   "A communicator without all of the clock's processes was accepted.");
    mpi_assert(offbeat_start_context_create(s.clock, s.comm, 2, &other_context) == MPI_ERR_ARG,
               "A yield of 2 was accepted.");
    /* All processes must fail, so that none waits for another. */
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", s.rank == s.size - 1 ? "soon" : "2000", 1);
    mpi_assert(offbeat_start_context_create(s.clock, s.comm, 1, &other_context) == MPI_ERR_ARG,
               "A tolerance that is invalid at one process was accepted.");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    mpi_assert(other_context == NULL, "A failed offbeat_start_context_create returned a context.");
    checked_start(&s, 0);
    tear_down(&s);
}

static void the_tolerance_decides_what_is_on_time(void) {
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "3600000000000", 1);
    fixture s = set_up(MPI_COMM_WORLD, MPI_COMM_WORLD, OFFBEAT_YIELD_IF_OVERSUBSCRIBED);
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    inject_sleep_after_receive(s.rank == s.size - 1 && s.size > 1 ? 60 * MILLISECOND : 0);
    offbeat_start start = checked_start(&s, 0);
    mpi_assert(start.verdict == OFFBEAT_ON_TIME, "With a tolerance of one hour a process %s.",
               offbeat_verdict_text(start.verdict));
    tear_down(&s);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Waiting without yielding only if every process has a core. */
    for (int yield = size > sysconf(_SC_NPROCESSORS_ONLN); yield <= 1; yield++) {
        restore_clocks();
        every_kind_of_communicator_can_start(yield);
        the_slack_grows_in_a_burst_and_is_small_again_ten_starts_later(yield);
        a_missed_start_does_not_synchronise_the_clocks(yield);
        clocks_are_synchronised_when_their_bound_has_grown(yield);
        /* On one physical clock, so that no sync takes place between the injection of a fault and the start.
         */
        a_late_process_is_reported(yield);
        a_core_lost_while_waiting_is_reported(yield);
        offset_clocks(yield);
        every_kind_of_communicator_can_start(yield);
        a_context_outlives_its_communicator(yield);
        clocks_are_synchronised_when_their_bound_has_grown(yield);
    }
    oversubscription_is_detected();
    bad_input_gives_an_error_code();
    the_tolerance_decides_what_is_on_time();
    MPI_Finalize();
    return 0;
}
