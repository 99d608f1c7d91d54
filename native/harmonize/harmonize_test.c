/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the harmonised start promises, on any number of processes on one machine: there all processes read one
 * physical clock, so that the test knows who really left when, whatever virtual offsets it gives.
 */
#define _DEFAULT_SOURCE /* syscall */
#include <offbeat/harmonize.h>

#include "clock/expect.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STARTS = 5 };
static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000, SECOND = 1000000000;

static void sleep_ns(int64_t length_ns) {
    struct timespec rest = {.tv_sec = length_ns / SECOND, .tv_nsec = length_ns % SECOND};
    while (nanosleep(&rest, &rest) != 0)
        ;
}

/* Accidents on demand: this process falls asleep when it has received a message, or when it first yields
 * thereafter. */
static int64_t sleep_on_receipt_ns, sleep_on_yield_ns;
static _Thread_local int has_received;

static void accident(int64_t *length_ns) {
    int64_t asked_ns = *length_ns;
    *length_ns = 0;
    if (asked_ns > 0)
        sleep_ns(asked_ns);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    int rc = PMPI_Recv(buffer, count, type, source, tag, comm, status);
    accident(&sleep_on_receipt_ns);
    return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int rc = PMPI_Test(request, flag, status);
    has_received = *flag;
    if (*flag)
        accident(&sleep_on_receipt_ns);
    return rc;
}

int sched_yield(void) {
    if (has_received)
        accident(&sleep_on_yield_ns);
    return (int)syscall(SYS_sched_yield);
}

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

static int64_t physical_now_ns(void) {
    return offbeat_clock_local_ns() - own_virtual_offset_ns();
}

/* One start, of which everything is checked that always holds. */
static offbeat_start checked_start(const scene *s, int64_t delay_ns) {
    offbeat_start start;
    int64_t entered_ns = physical_now_ns();
    expect_success(offbeat_harmonize(s->harmony, delay_ns, &start), "offbeat_harmonize");
    int64_t left_ns = physical_now_ns();
    int64_t global_ns = offbeat_clock_global_ns(s->clock, offbeat_clock_local_ns());
    expect(start.planned_ns == start.deadline_ns + delay_ns,
           "The planned time is not the deadline plus the delay.");
    expect(global_ns >= start.planned_ns, "A process left before its planned time on the shared clock.");
    expect(left_ns >= start.planned_ns - s->reference_ns - start.bound_ns,
           "A process left %lld ns before its planned time in truth, the clock's bound is %lld ns.",
           (long long)(start.planned_ns - s->reference_ns - left_ns), (long long)start.bound_ns);
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

static void adapt(const scene *s, const offbeat_start *start) {
    offbeat_harmony_adapt(s->harmony, -largest_of(-start->margin_ns, s->comm));
}

/* Starts with no delay, with another delay on each process, and with a process that comes 10 ms after the
 * others. */
static void starts_are_in_harmony_on(MPI_Comm clock_comm, MPI_Comm comm, int yield) {
    int before = collectives_called();
    scene s = set_scene(clock_comm, comm, yield);
    for (int i = 0; i < STARTS; i++) {
        offbeat_start start = checked_start(&s, i % 2 == 0 ? 0 : s.rank * 300 * MICROSECOND);
        adapt(&s, &start);
    }
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
    sleep_on_receipt_ns = is_victim ? 60 * MILLISECOND : 0;
    offbeat_start start = checked_start(&s, 0);
    expect(!is_victim || start.margin_ns < 0,
           "A process that slept past the deadline has a margin of %lld ns.", (long long)start.margin_ns);
    expect(!is_victim || start.overshoot_ns >= -start.margin_ns,
           "A late process has an overshoot of %lld ns.", (long long)start.overshoot_ns);
    sleep_on_receipt_ns = is_victim ? 60 * MILLISECOND : 0;
    start = checked_start(&s, 200 * MILLISECOND);
    expect(!is_victim || start.margin_ns < 0, "With a delay the margin isn't counted from the deadline.");
    strike_scene(&s);
}

static void a_core_lost_while_waiting_is_noticed(void) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, 1);
    int is_victim = s.rank == s.size - 1 && s.size > 1;
    sleep_on_yield_ns = is_victim ? 150 * MILLISECOND : 0;
    offbeat_start start = checked_start(&s, 20 * MILLISECOND);
    expect(!is_victim || start.overshoot_ns >= 50 * MILLISECOND,
           "A process that lost its core for 150 ms while it waited has an overshoot of %lld ns.",
           (long long)start.overshoot_ns);
    strike_scene(&s);
}

/* Tells of starts that each needed the same time. */
static void feed(const scene *s, int starts, int64_t used_ns, int64_t need_ns) {
    for (int i = 0; i < starts; i++)
        offbeat_harmony_adapt(s->harmony, used_ns - need_ns);
}

static void expect_slack(const scene *s, int64_t expected_ns, const char *when) {
    int64_t slack_ns = offbeat_harmony_slack_ns(s->harmony);
    expect(slack_ns == (s->rank == 0 ? expected_ns : 0), "%s the slack is %lld ns instead of %lld ns.", when,
           (long long)slack_ns, (long long)expected_ns);
}

static void the_slack_follows_the_median_both_ways(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t floor_ns = yield ? 50 * MICROSECOND : 2 * MICROSECOND,
            used_ns = offbeat_harmony_slack_ns(s.harmony);
    expect(s.rank != 0 || (used_ns >= floor_ns && used_ns <= 50 * MILLISECOND), "The first slack is %lld ns.",
           (long long)used_ns);
    feed(&s, 16, used_ns, 100 * MICROSECOND);
    expect_slack(&s, 301 * MICROSECOND, "After 16 starts that needed 100 us");
    feed(&s, 7, used_ns, MILLISECOND);
    expect_slack(&s, 301 * MICROSECOND, "After a burst of 7 slow starts");
    feed(&s, 2, used_ns, MILLISECOND);
    expect_slack(&s, 3001 * MICROSECOND, "When most of the last 16 starts were slow");
    feed(&s, 9, used_ns, 40 * MICROSECOND);
    expect_slack(&s, 121 * MICROSECOND, "Nine starts after the burst");
    feed(&s, 16, used_ns, 0);
    expect_slack(&s, floor_ns, "When nothing is needed");
    feed(&s, 16, used_ns, SECOND);
    expect_slack(&s, 50 * MILLISECOND, "When a second is needed");
    for (int i = 0; i < 16; i++)
        offbeat_harmony_adapt(s.harmony, i % 2 ? INT64_MIN : INT64_MIN + 1);
    expect_slack(&s, 50 * MILLISECOND, "After senseless margins");
    checked_start(&s, 0);
    strike_scene(&s);
}

/* A need is counted from the slack that the start had, not from the one that was learned meanwhile. */
static void starts_may_be_told_of_together(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    feed(&s, 16, offbeat_harmony_slack_ns(s.harmony), MILLISECOND);
    checked_start(&s, 0);
    feed(&s, 16, 3001 * MICROSECOND, 200 * MICROSECOND);
    expect_slack(&s, 601 * MICROSECOND, "After 16 starts told of together");
    strike_scene(&s);
}

static void old_clocks_are_synchronised_unless_physically_shared(int yield) {
    scene s = set_scene(MPI_COMM_WORLD, MPI_COMM_WORLD, yield);
    int64_t all_shared = -largest_of(-offbeat_clock_is_shared(s.clock), s.comm);
    sleep_ns(1100 * MILLISECOND);
    int64_t age_ns = offbeat_clock_age_ns(s.clock), before_ns = offbeat_clock_local_ns();
    checked_start(&s, 0);
    int64_t passed_ns = offbeat_clock_local_ns() - before_ns;
    int is_synced = offbeat_clock_age_ns(s.clock) < age_ns + passed_ns;
    expect(all_shared || is_synced, "A start on clocks that are %lld ns old did not synchronise them.",
           (long long)age_ns);
    expect(!all_shared || !is_synced, "A start synchronised clocks that are one physical clock.");
    checked_start(&s, 0);
    strike_scene(&s);
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
    expect(other == NULL, "A failed offbeat_harmony_create left a harmony.");
    checked_start(&s, 0);
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
        the_slack_follows_the_median_both_ways(yield);
        starts_may_be_told_of_together(yield);
        old_clocks_are_synchronised_unless_physically_shared(yield);
        move_clocks(yield);
        every_kind_of_communicator_can_start(yield);
        a_harmony_outlives_its_communicator(yield);
        a_process_that_comes_late_says_so(yield);
        old_clocks_are_synchronised_unless_physically_shared(yield);
    }
    a_core_lost_while_waiting_is_noticed();
    bad_input_gives_an_error_code();
    MPI_Finalize();
    return 0;
}
