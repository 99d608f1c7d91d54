/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the harmonised start promises, on any number of processes on one machine: there all processes read one
 * physical clock, so that the test knows who really left when, whatever virtual offsets it gives.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "clock/expect.h"
#include "harmonize/accident.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARTS = 5 };
static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000;

/* A clock and a harmony on a communicator. */
typedef struct scene {
    MPI_Comm comm;
    int rank, size;
    offbeat_clock *clock;
    offbeat_harmony *harmony;
    int64_t reference_ns; /* virtual offset of the clock's reference: shared clock minus physical clock */
} scene;

static scene set_scene(MPI_Comm clock_comm, MPI_Comm comm, int yield) {
    scene s = {.comm = comm};
    MPI_Comm_rank(comm, &s.rank);
    MPI_Comm_size(comm, &s.size);
    s.reference_ns = first_of(own_virtual_offset_ns(), clock_comm);
    expect_success(offbeat_clock_create(clock_comm, &s.clock), "offbeat_clock_create");
    expect_success(offbeat_harmony_create(s.clock, comm, yield, &s.harmony), "offbeat_harmony_create");
    return s;
}

static void strike_scene(scene *s) {
    expect_success(offbeat_harmony_free(&s->harmony), "offbeat_harmony_free");
    expect(s->harmony == NULL, "offbeat_harmony_free left the pointer set.");
    expect_success(offbeat_harmony_free(&s->harmony), "offbeat_harmony_free of NULL");
    expect_success(offbeat_clock_free(&s->clock), "offbeat_clock_free");
}

/* One start, of which everything is checked that always holds. */
static offbeat_start checked_start(const scene *s, int64_t delay_ns) {
    offbeat_start start;
    int64_t entered_ns = physical_now_ns();
    expect_success(offbeat_harmonize(s->harmony, delay_ns, &start), "offbeat_harmonize");
    int64_t left_ns = physical_now_ns();
    int64_t global_ns = offbeat_clock_global_ns(s->clock, offbeat_clock_local_ns(s->clock));
    expect(start.planned_ns == start.deadline_ns + delay_ns,
           "The planned time is not the deadline plus the delay.");
    expect(global_ns >= start.planned_ns, "A process left before its planned time on the shared clock.");
    expect(left_ns >= start.planned_ns - s->reference_ns - start.bound_ns,
           "A process left %lld ns before its planned time in truth, the clock's bound is %lld ns.",
           (long long)(start.planned_ns - s->reference_ns - left_ns), (long long)start.bound_ns);
    int64_t tolerance_ns = offbeat_harmony_tolerance_ns(s->harmony);
    expect((start.verdict == OFFBEAT_ON_TIME) == (start.overshoot_ns <= tolerance_ns),
           "A process that %s has an overshoot of %lld ns, the tolerance is %lld ns.",
           offbeat_verdict_text(start.verdict), (long long)start.overshoot_ns, (long long)tolerance_ns);
    expect(start.verdict == OFFBEAT_ON_TIME ||
               (start.verdict == OFFBEAT_CAME_LATE) == (start.margin_ns + delay_ns < 0),
           "A process that began to wait %lld ns before its planned time is said to be one that %s.",
           (long long)start.margin_ns + delay_ns, offbeat_verdict_text(start.verdict));
    expect(first_of(start.slack_ns, s->comm) == start.slack_ns, "Two processes know different slacks.");
    expect(start.overshoot_ns >= 0, "The overshoot is negative: %lld ns.", (long long)start.overshoot_ns);
    expect(start.margin_ns >= 0 || start.margin_ns + start.overshoot_ns + delay_ns >= 0,
           "A process came %lld ns late, but its overshoot is only %lld ns.", (long long)-start.margin_ns,
           (long long)start.overshoot_ns);
    expect(first_of(start.deadline_ns, s->comm) == start.deadline_ns,
           "Two processes have different deadlines.");
    int64_t last_entered_ns = largest_of(entered_ns, s->comm);
    int64_t root_bound_ns = first_of(start.bound_ns, s->comm);
    expect(start.deadline_ns - s->reference_ns + root_bound_ns >= last_entered_ns,
           "The deadline is before the last process's arrival.");
    expect(left_ns >= last_entered_ns, "A process left before all had arrived.");
    return start;
}

/* Starts with no delay, with another delay on each process, and with a process that comes 10 ms after the
 * others. */
static void starts_are_in_harmony_on(MPI_Comm clock_comm, MPI_Comm comm, int yield) {
    int before = collectives_called();
    scene s = set_scene(clock_comm, comm, yield);
    for (int i = 0; i < STARTS; i++)
        checked_start(&s, i % 2 == 0 ? 0 : s.rank * 300 * MICROSECOND);
    if (s.rank == s.size - 1)
        sleep_ns(10 * MILLISECOND);
    checked_start(&s, 0);
    strike_scene(&s);
    expect(collectives_called() == before, "The start called %d collectives.", collectives_called() - before);
}

static void every_kind_of_communicator_can_start(int yield) {
    int rank, size;
    MPI_Comm comm, other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    starts_are_in_harmony_on(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    starts_are_in_harmony_on(MPI_COMM_SELF, MPI_COMM_SELF, yield);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    starts_are_in_harmony_on(MPI_COMM_WORLD, comm, yield);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    starts_are_in_harmony_on(comm, comm, yield);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, rank, &comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &other);
    if (comm != MPI_COMM_NULL)
        starts_are_in_harmony_on(comm, comm, yield);
    if (other != MPI_COMM_NULL) {
        starts_are_in_harmony_on(other, other, yield);
        MPI_Comm_free(&other);
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static void a_harmony_outlives_its_communicator(int yield) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    scene s = set_scene(comm, comm, yield);
    MPI_Comm_free(&comm);
    s.comm = MPI_COMM_WORLD;
    checked_start(&s, 0);
    strike_scene(&s);
}

/* The last rank is a leaf of the tree: the deadline is the only message it receives in a start. */
static void a_process_that_comes_late_says_so(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int is_victim = s.rank == s.size - 1 && s.size > 1;
    sleep_on_receipt(is_victim ? 60 * MILLISECOND : 0);
    offbeat_start start = checked_start(&s, 0);
    expect(!is_victim || start.margin_ns < 0,
           "A process that slept past the deadline has a margin of %lld ns.", (long long)start.margin_ns);
    expect(!is_victim || start.overshoot_ns >= -start.margin_ns,
           "A late process has an overshoot of %lld ns.", (long long)start.overshoot_ns);
    expect(!is_victim || start.verdict == OFFBEAT_CAME_LATE,
           "Of a process that came late it is said that it %s.", offbeat_verdict_text(start.verdict));
    sleep_on_receipt(is_victim ? 60 * MILLISECOND : 0);
    start = checked_start(&s, 200 * MILLISECOND);
    expect(!is_victim || start.margin_ns < 0, "With a delay the margin isn't counted from the deadline.");
    strike_scene(&s);
}

static void expect_lost_core(const offbeat_start *start) {
    expect(start->overshoot_ns >= 50 * MILLISECOND,
           "A process that lost its core for 200 ms while it waited has an overshoot of %lld ns.",
           (long long)start->overshoot_ns);
    expect(start->verdict == OFFBEAT_LOST_CORE,
           "Of a process that lost its core while it waited it is said that it %s.",
           offbeat_verdict_text(start->verdict));
}

static void a_core_lost_while_waiting_is_noticed(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int is_victim = s.rank == s.size - 1 && s.size > 1;
    if (is_victim)
        be_interrupted(20 * MILLISECOND, 200 * MILLISECOND);
    offbeat_start start = checked_start(&s, 100 * MILLISECOND);
    if (is_victim)
        expect_lost_core(&start);
    strike_scene(&s);
}

/* One process needs 20 ms longer than the others to hear of each deadline. */
static void starts_with_a_slow_process(const scene *s, int starts, int64_t longer_ns) {
    for (int i = 0; i < starts; i++) {
        offbeat_start start;
        sleep_on_receipt(s->rank == s->size - 1 && s->size > 1 ? longer_ns : 0);
        expect_success(offbeat_harmonize(s->harmony, 0, &start), "offbeat_harmonize");
    }
}

static void the_slack_grows_in_a_burst_and_is_small_ten_starts_after_it(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    starts_with_a_slow_process(&s, 12, 20 * MILLISECOND);
    int64_t slack_ns = offbeat_harmony_slack_ns(s.harmony);
    expect(s.rank != 0 || s.size == 1 || slack_ns == 50 * MILLISECOND,
           "After 12 starts that needed 20 ms and more the slack is %lld ns.", (long long)slack_ns);
    starts_with_a_slow_process(&s, 10, 0);
    slack_ns = offbeat_harmony_slack_ns(s.harmony);
    expect(slack_ns < 20 * MILLISECOND, "Ten starts after a burst the slack is still %lld ns.",
           (long long)slack_ns);
    expect(s.rank == 0 || slack_ns == 0, "A process that sets no deadline has a slack.");
    strike_scene(&s);
}

/* A miss says nothing of the clocks. */
static void a_missed_start_synchronises_nothing(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t before_ns = offbeat_clock_age_ns(s.clock), began_ns = physical_now_ns();
    starts_with_a_slow_process(&s, 4, 60 * MILLISECOND);
    int64_t grown_ns = offbeat_clock_age_ns(s.clock) - before_ns, passed_ns = physical_now_ns() - began_ns;
    expect(grown_ns > passed_ns / 2, "While starts were missed the clocks were synchronised.");
    strike_scene(&s);
}

/* What a clock lost in its age is won by a sync; a shared physical clock loses nothing. */
static void clocks_are_synchronised_when_their_bound_has_grown(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t length_ns = first_of(offbeat_clock_sync_facts(s.clock).duration_ns, s.comm);
    sleep_ns(length_ns > 10 * MILLISECOND ? 40 * length_ns : 400 * MILLISECOND);
    int64_t began_ns = physical_now_ns(), age_ns = offbeat_clock_age_ns(s.clock);
    int64_t best_ns = offbeat_clock_sync_facts(s.clock).bound_ns;
    int64_t has_grown = largest_of(offbeat_clock_now(s.clock).bound_ns > 2 * best_ns + 500, s.comm);
    int64_t all_shared = !largest_of(!offbeat_clock_is_shared(s.clock), s.comm);
    expect(has_grown != all_shared, "After %lld ns without a sync a bound %s.", (long long)age_ns,
           has_grown ? "has grown though all clocks are one" : "hasn't grown");
    checked_start(&s, 0);
    int is_synced = offbeat_clock_age_ns(s.clock) < age_ns + (physical_now_ns() - began_ns) / 2;
    expect(is_synced == has_grown, "A start on clocks that are %lld ns old %s them.", (long long)age_ns,
           is_synced ? "synchronised" : "didn't synchronise");
    checked_start(&s, 0);
    strike_scene(&s);
}

/* Without being told: a deadline then leaves room for the scheduler. */
static void more_processes_than_cores_are_noticed(void) {
    const char *wish = getenv("OFFBEAT_YIELD");
    char *kept = wish != NULL ? strdup(wish) : NULL;
    unsetenv("OFFBEAT_YIELD");
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, OFFBEAT_YIELD_WHERE_CROWDED);
    expect(s.rank != 0 || s.size <= sysconf(_SC_NPROCESSORS_ONLN) ||
               offbeat_harmony_slack_ns(s.harmony) >= 50 * MICROSECOND,
           "%d processes on fewer cores start with a slack of %lld ns.", s.size,
           (long long)offbeat_harmony_slack_ns(s.harmony));
    checked_start(&s, 0);
    strike_scene(&s);
    if (kept != NULL)
        setenv("OFFBEAT_YIELD", kept, 1);
    free(kept);
}

static void bad_input_gives_an_error_code(void) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, 1);
    offbeat_start start;
    offbeat_harmony *other = NULL;
    expect(offbeat_harmonize(s.harmony, -1, &start) == MPI_ERR_ARG, "A negative delay was accepted.");
    expect(offbeat_harmonize(s.harmony, 0, NULL) == MPI_ERR_ARG, "A NULL start was accepted.");
    expect(offbeat_harmonize(NULL, 0, &start) == MPI_ERR_ARG, "A NULL harmony was accepted.");
    expect(offbeat_harmony_create(NULL, s.comm, 0, &other) == MPI_ERR_ARG, "A NULL clock was accepted.");
    expect(offbeat_harmony_create(s.clock, MPI_COMM_NULL, 0, &other) == MPI_ERR_COMM,
           "MPI_COMM_NULL was accepted.");
    if (s.size > 1)
        expect(offbeat_harmony_create(s.clock, MPI_COMM_SELF, 0, &other) == MPI_ERR_COMM,
               "A communicator without all of the clock's processes was accepted.");
    expect(offbeat_harmony_create(s.clock, s.comm, 2, &other) == MPI_ERR_ARG, "A yield of 2 was accepted.");
    /* One process's environment is everybody's trouble: nobody must wait for it. */
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", s.rank == s.size - 1 ? "soon" : "2000", 1);
    expect(offbeat_harmony_create(s.clock, s.comm, 1, &other) == MPI_ERR_ARG,
           "A tolerance that one process can't read was accepted.");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    expect(other == NULL, "A failed offbeat_harmony_create left a harmony.");
    checked_start(&s, 0);
    strike_scene(&s);
}

/* Without limits every start that isn't early is on time. */
static void the_tolerance_decides_what_is_on_time(void) {
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "3600000000000", 1);
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, OFFBEAT_YIELD_WHERE_CROWDED);
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    sleep_on_receipt(s.rank == s.size - 1 && s.size > 1 ? 60 * MILLISECOND : 0);
    offbeat_start start = checked_start(&s, 0);
    expect(start.verdict == OFFBEAT_ON_TIME, "With an hour of tolerance a process %s.",
           offbeat_verdict_text(start.verdict));
    strike_scene(&s);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Without yielding only where every process has a core. */
    for (int yield = size > sysconf(_SC_NPROCESSORS_ONLN); yield <= 1; yield++) {
        restore_clocks();
        every_kind_of_communicator_can_start(yield);
        the_slack_grows_in_a_burst_and_is_small_ten_starts_after_it(yield);
        a_missed_start_synchronises_nothing(yield);
        clocks_are_synchronised_when_their_bound_has_grown(yield);
        /* On one physical clock, so that no sync comes between an accident and its start. */
        a_process_that_comes_late_says_so(yield);
        a_core_lost_while_waiting_is_noticed(yield);
        move_clocks(yield);
        every_kind_of_communicator_can_start(yield);
        a_harmony_outlives_its_communicator(yield);
        clocks_are_synchronised_when_their_bound_has_grown(yield);
    }
    more_processes_than_cores_are_noticed();
    bad_input_gives_an_error_code();
    the_tolerance_decides_what_is_on_time();
    MPI_Finalize();
    return 0;
}
