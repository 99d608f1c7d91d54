/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of the clock estimators, without MPI: the schedule, virtual clocks, intervals, polygons, the
 * history of constraints, fits, models, and the detection of a common physical clock.
 */
#include "clock/limits.h"
#include "clock/pair_sync.h"
#include "clock/sync_schedule.h"
#include "clock/virtual_clock.h"
#include "testing/assert.h"
#include "testing/network_model.h"

#include <string.h>

static const int64_t SECOND = 1000000000;

static int is_near(double a, double b, double distance) {
    return a - b <= distance && b - a <= distance;
}

static int tree_depth(int rank) {
    int depth = 0;
    for (; rank != 0; rank = offbeat_clock_tree_parent(rank))
        depth++;
    return depth;
}

static void the_tree_reaches_all_processes_in_logarithmic_rounds(void) {
    for (int size = 1; size <= 300; size++) {
        int process_count = 1, limit = 0;
        while ((1 << limit) < size)
            limit++;
        for (int rank = 0; rank < size; rank++) {
            int children = 0;
            for (int m = offbeat_clock_tree_span(rank, size) / 2; m > 0; m /= 2) {
                if (rank + m >= size)
                    continue;
                children++;
                test_assert(offbeat_clock_tree_parent(rank + m) == rank,
                            "p=%d: %d is not the parent of its child %d.", size, rank, rank + m);
            }
            process_count += children;
            test_assert(children + tree_depth(rank) <= limit,
                        "p=%d: rank %d takes part in more than %d rounds.", size, rank, limit);
        }
        test_assert(process_count == size, "p=%d: the tree reaches %d processes.", size, process_count);
    }
}

/* Performs the steps of all processes; a step needs both sides. @return the number of synchronised processes
 */
static int count_synchronised(const offbeat_clock_sync_schedule *schedules, int size) {
    int next[64] = {0}, is_synchronised[64] = {1}, count = 1;
    for (int has_progress = 1; has_progress;) {
        has_progress = 0;
        for (int rank = 0; rank < size; rank++) {
            offbeat_clock_sync_step own_step, peer_step;
            if (!offbeat_clock_sync_schedule_step(&schedules[rank], next[rank], &own_step) ||
                own_step.is_reference ||
                !offbeat_clock_sync_schedule_step(&schedules[own_step.peer], next[own_step.peer],
                                                  &peer_step) ||
                peer_step.peer != rank)
                continue;
            test_assert(peer_step.is_reference, "Rank %d and rank %d are both clients.", rank, own_step.peer);
            test_assert(is_synchronised[own_step.peer],
                        "Rank %d is a reference process before it is synchronised.", own_step.peer);
            test_assert(!is_synchronised[rank], "Rank %d is synchronised twice.", rank);
            is_synchronised[rank] = has_progress = 1;
            count++;
            next[rank]++;
            next[own_step.peer]++;
        }
    }
    for (int rank = 0; rank < size; rank++) {
        offbeat_clock_sync_step extra_step;
        test_assert(!offbeat_clock_sync_schedule_step(&schedules[rank], next[rank], &extra_step),
                    "Rank %d waits forever for rank %d.", rank, extra_step.peer);
    }
    return count;
}

static void all_processes_are_synchronised_once_by_tree_and_star(void) {
    offbeat_clock_sync_schedule schedules[64];
    for (int is_star = 0; is_star <= 1; is_star++)
        for (int size = 1; size <= 64; size++) {
            memset(schedules, 0, sizeof schedules);
            for (int rank = 0; rank < size; rank++)
                schedules[rank].stages[0] = (offbeat_clock_sync_stage){is_star, rank, size, NULL};
            test_assert(count_synchronised(schedules, size) == size,
                        "p=%d: some processes are not synchronised.", size);
        }
}

/* Processes are distributed round-robin over the nodes. */
static void all_processes_are_synchronised_once_by_nodes(void) {
    for (int nodes = 1; nodes <= 9; nodes++)
        for (int size = nodes; size <= 40; size++) {
            offbeat_clock_sync_schedule schedules[64];
            int members[9][64], leaders[9];
            memset(schedules, 0, sizeof schedules);
            for (int rank = 0; rank < size; rank++) {
                int node = rank % nodes;
                members[node][rank / nodes] = rank;
                leaders[node] = members[node][0];
                if (rank < nodes)
                    schedules[rank].stages[0] = (offbeat_clock_sync_stage){0, node, nodes, leaders};
                schedules[rank].stages[1] = (offbeat_clock_sync_stage){
                    0, rank / nodes, (size - node + nodes - 1) / nodes, members[node]};
            }
            test_assert(count_synchronised(schedules, size) == size,
                        "p=%d on %d nodes: some processes are not synchronised.", size, nodes);
        }
}

static void a_virtual_clock_follows_its_text(void) {
    char why[200];
    offbeat_clock_distortion distortion;
    const char *text =
        "epoch=1000000000;0:drift=1.5;3:offset=-70,drift=100,step=5000@2,step=-9@3;12:offset=3";
    test_assert(offbeat_clock_virtual_parse(text, 3, &distortion, why, sizeof why) == 0,
                "'%s' was refused: %s", text, why);
    test_assert(offbeat_clock_virtual_ns(&distortion, SECOND) == SECOND - 70,
                "The offset at the epoch is wrong.");
    test_assert(offbeat_clock_virtual_ns(&distortion, 2 * SECOND) == 2 * SECOND - 70 + 100000,
                "The drift is wrong.");
    test_assert(offbeat_clock_virtual_ns(&distortion, 3 * SECOND) == 3 * SECOND - 70 + 205000,
                "The first step is wrong.");
    test_assert(offbeat_clock_virtual_ns(&distortion, 4 * SECOND) == 4 * SECOND - 79 + 305000,
                "The second step is wrong.");
    test_assert(offbeat_clock_virtual_parse(text, 12, &distortion, why, sizeof why) == 0,
                "'%s' was refused: %s", text, why);
    test_assert(offbeat_clock_virtual_ns(&distortion, 7) == 10, "Rank 12 has another rank's offset.");
    test_assert(offbeat_clock_virtual_parse(text, 1, &distortion, why, sizeof why) == 0,
                "'%s' was refused: %s", text, why);
    test_assert(offbeat_clock_virtual_ns(&distortion, 7) == 7,
                "The clock of a rank that is not listed is distorted.");
}

/* The drift stays within the amplitude of the wander and changes continuously. */
static void a_wandering_clock_stays_within_its_amplitude(void) {
    char why[200];
    offbeat_clock_distortion distortion;
    test_assert(offbeat_clock_virtual_parse("0:wander=8/4", 0, &distortion, why, sizeof why) == 0, "%s", why);
    const int64_t step_ns = SECOND / 100;
    double last_rate_ppm = 0;
    for (int64_t t_ns = 0; t_ns < 20 * SECOND; t_ns += step_ns) {
        int64_t gained_ns = offbeat_clock_virtual_ns(&distortion, t_ns + step_ns) -
                            offbeat_clock_virtual_ns(&distortion, t_ns);
        double rate_ppm = ((double)gained_ns / (double)step_ns - 1) * 1e6;
        test_assert(rate_ppm < 8.2 && rate_ppm > -8.2, "The rate is %.2f ppm.", rate_ppm);
        test_assert(t_ns == 0 || is_near(rate_ppm, last_rate_ppm, 0.3), "The rate jumps by %.2f ppm.",
                    rate_ppm - last_rate_ppm);
        last_rate_ppm = rate_ppm;
    }
    test_assert(offbeat_clock_virtual_ns(&distortion, 40 * SECOND) == 40 * SECOND,
                "The wander of a whole period does not cancel out.");
}

/* The reference clock runs 150 ppm fast; messages take 1 to 51 us in each direction. */
static void an_interval_holds_the_true_offset_of_a_drifting_clock(void) {
    const int64_t offset_ns = -123456789;
    offbeat_clock_interval interval = {.exchanges = 0};
    int64_t now_ns = SECOND, low_ns, high_ns;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        int64_t there_ns = 1000 + (int64_t)(50000 * network_random(&seed));
        int64_t back_ns = 1000 + (int64_t)(50000 * network_random(&seed));
        int64_t reached_ns = now_ns + there_ns;
        offbeat_clock_exchange exchange = {.sent_ns = now_ns,
                                           .answered_ns = reached_ns + offset_ns + reached_ns * 3 / 20000,
                                           .answered_error_ns = i % 3,
                                           .received_ns = reached_ns + back_ns};
        offbeat_clock_interval_narrow(&interval, &exchange);
        now_ns = exchange.received_ns + (int64_t)(100000 * network_random(&seed));
        offbeat_clock_interval_at(&interval, now_ns, &low_ns, &high_ns);
        int64_t truth_ns = offset_ns + now_ns * 3 / 20000;
        test_assert(low_ns <= truth_ns && truth_ns <= high_ns,
                    "After %d exchanges the true offset left the interval.", i + 1);
    }
    test_assert(high_ns - low_ns < 20000, "2000 exchanges left an interval of %lld ns.",
                (long long)(high_ns - low_ns));
}

static void an_exchange_that_contradicts_all_others_replaces_them(void) {
    offbeat_clock_interval interval = {.exchanges = 0};
    int64_t low_ns, high_ns;
    offbeat_clock_exchange first_exchange = {.sent_ns = 0, .answered_ns = 500, .received_ns = 1000};
    offbeat_clock_exchange second_exchange = {
        .sent_ns = 2000, .answered_ns = 1000002500, .received_ns = 3000};
    offbeat_clock_interval_narrow(&interval, &first_exchange);
    test_assert(offbeat_clock_interval_narrow(&interval, &second_exchange),
                "An exchange after a step of one second did not replace the interval.");
    offbeat_clock_interval_at(&interval, 3000, &low_ns, &high_ns);
    test_assert(low_ns <= SECOND && SECOND <= high_ns, "The interval did not follow a clock that was set.");
}

static int is_same(const offbeat_clock_polygon *a, const offbeat_clock_polygon *b) {
    int are_same = a->count == b->count;
    for (int i = 0; are_same && i < a->count; i++)
        are_same = is_near(a->corners[i].offset_ns, b->corners[i].offset_ns, 0) &&
                   is_near(a->corners[i].slope, b->corners[i].slope, 0);
    return are_same;
}

static void a_polygon_contains_what_its_constraints_allow(void) {
    offbeat_clock_polygon polygon = offbeat_clock_polygon_box(-100, 300);
    offbeat_clock_line centre = offbeat_clock_polygon_centroid(&polygon);
    test_assert(is_near(centre.offset_ns, 100, 1e-9) && is_near(centre.slope, 0, 1e-15),
                "The centroid of a box is wrong.");
    offbeat_clock_polygon_cut(&polygon, 0, 100, OFFBEAT_UPPER_SIDE);
    offbeat_clock_polygon_cut(&polygon, 0, 0, OFFBEAT_LOWER_SIDE);
    test_assert(polygon.count == 4, "A box that was cut along its sides has %d corners.", polygon.count);
    double half = 1e6 * OFFBEAT_DRIFT_LIMIT;
    offbeat_clock_line middle = {50, 0};
    test_assert(is_near(offbeat_clock_polygon_max_distance_ns(&polygon, middle, 1e6), 50 + half, 1e-6),
                "The largest distance is wrong.");
    /* Cuts a triangle off, so that only offsets below 0 have the largest slope. */
    offbeat_clock_polygon_cut(&polygon, 1e6, 0, OFFBEAT_UPPER_SIDE);
    centre = offbeat_clock_polygon_centroid(&polygon);
    test_assert(centre.slope < 0 && polygon.count >= 3,
                "After a cut of the large slopes the centroid is at %.1f ppm.", centre.slope * 1e6);
    offbeat_clock_polygon initial_polygon = polygon;
    test_assert(!offbeat_clock_polygon_cut(&polygon, 0, -1, OFFBEAT_UPPER_SIDE),
                "Contradicting constraints leave a line.");
    test_assert(is_same(&initial_polygon, &polygon), "A refused cut changed the polygon.");
}

/* With more constraints than corners. */
static void a_polygon_never_loses_the_true_line(void) {
    offbeat_clock_polygon polygon = offbeat_clock_polygon_box(-1e6, 1e6);
    const offbeat_clock_line truth = {12.5, 30e-6};
    for (int i = -2000; i < 2000; i++) {
        double elapsed_ns = i * 1e5, widening_ns = 1 + elapsed_ns * elapsed_ns * 1e-15;
        offbeat_clock_polygon_cut(&polygon, elapsed_ns,
                                  truth.offset_ns + truth.slope * elapsed_ns + widening_ns,
                                  OFFBEAT_UPPER_SIDE);
        offbeat_clock_polygon_cut(&polygon, elapsed_ns,
                                  truth.offset_ns + truth.slope * elapsed_ns - widening_ns,
                                  OFFBEAT_LOWER_SIDE);
        test_assert(polygon.count >= 3 && polygon.count <= OFFBEAT_MOST_CORNERS,
                    "The polygon has %d corners.", polygon.count);
    }
    offbeat_clock_line centre = offbeat_clock_polygon_centroid(&polygon);
    test_assert(is_near(centre.offset_ns, truth.offset_ns, 0.2) && is_near(centre.slope, truth.slope, 1e-8),
                "The centroid is at %.3f ns and %.3f ppm.", centre.offset_ns, centre.slope * 1e6);
}

static void a_fit_goes_through_its_points(void) {
    offbeat_clock_fit fit = {.exchanges_per_point = 3};
    for (int i = 0; i < 30; i++) {
        int64_t at_ns = 5 * SECOND + i * 100000, slow_ns = i % 3 == 1 ? 0 : 7777777;
        int64_t offset_ns = -400 * SECOND + i * 5; /* 50 ppm */
        offbeat_clock_exchange exchange = {
            .sent_ns = at_ns - 500, .answered_ns = at_ns + offset_ns, .received_ns = at_ns + 500 + slow_ns};
        offbeat_clock_fit_add(&fit, &exchange);
    }
    offbeat_clock_line line = offbeat_clock_fit_line(&fit, 6 * SECOND, -400 * SECOND);
    test_assert(is_near(line.slope, 50e-6, 1e-12) && is_near(line.offset_ns, 50000, 1e-3),
                "The line has %.3f ppm and %.3f ns.", line.slope * 1e6, line.offset_ns);
}

static void the_midpoint_comes_from_the_shortest_round_trips(void) {
    offbeat_clock_min_rtt min_rtt = {.total_count = 0};
    uint64_t seed = 11;
    const int64_t offset_ns = 123456789012345;
    for (int i = 0; i < 40; i++) {
        /* Every other exchange takes 1000 ns and has an error of up to 10 ns; the others are slow in one
         * direction. */
        int64_t at_ns = SECOND + i * 100000, noise_ns = (int64_t)(20 * network_random(&seed)) - 10;
        offbeat_clock_exchange exchange = {.sent_ns = at_ns,
                                           .answered_ns = at_ns + 500 + noise_ns + offset_ns,
                                           .received_ns = at_ns + 1000 + (i % 2 ? 1000 * i : 0)};
        offbeat_clock_min_rtt_add(&min_rtt, &exchange);
        test_assert(min_rtt.count == (i < OFFBEAT_MOST_MIN_RTT ? i + 1 : OFFBEAT_MOST_MIN_RTT),
                    "Of %d exchanges %d are kept.", i + 1, min_rtt.count);
    }
    offbeat_clock_midpoint midpoint = offbeat_clock_min_rtt_midpoint(&min_rtt);
    test_assert(midpoint.round_trip_ns == 1000, "The mean round trip is %lld ns.",
                (long long)midpoint.round_trip_ns);
    test_assert(llabs(midpoint.offset_ns - offset_ns) <= 6, "The error of the midpoint is %lld ns.",
                (long long)(midpoint.offset_ns - offset_ns));
    test_assert(midpoint.at_ns > SECOND && midpoint.at_ns < SECOND + 40 * 100000,
                "The time of the midpoint is wrong.");
}

static void estimates_are_confined_to_the_polygon(void) {
    offbeat_clock_polygon polygon = offbeat_clock_polygon_box(-100, 300);
    offbeat_clock_polygon_cut(&polygon, 1e6, 50, OFFBEAT_UPPER_SIDE);
    offbeat_clock_polygon_cut(&polygon, -1e6, -250, OFFBEAT_LOWER_SIDE);
    uint64_t seed = 5;
    for (int i = 0; i < 5000; i++) {
        offbeat_clock_line estimate = {2000 * (network_random(&seed) - 0.5),
                                       2e-3 * (network_random(&seed) - 0.5)};
        offbeat_clock_line confined_line = offbeat_clock_polygon_confine(&polygon, estimate);
        test_assert(confined_line.offset_ns >= -100 - 1e-6 && confined_line.offset_ns <= 300 + 1e-6 &&
                        confined_line.offset_ns + confined_line.slope * 1e6 <= 50 + 1e-6 &&
                        confined_line.offset_ns - confined_line.slope * 1e6 >= -250 - 1e-6 &&
                        confined_line.slope <= OFFBEAT_DRIFT_LIMIT + 1e-12 &&
                        confined_line.slope >= -OFFBEAT_DRIFT_LIMIT - 1e-12,
                    "The line %.1f ns, %.1f ppm is outside the polygon.", confined_line.offset_ns,
                    confined_line.slope * 1e6);
        int is_inside = estimate.offset_ns >= -100 && estimate.offset_ns <= 300 &&
                        estimate.offset_ns + estimate.slope * 1e6 <= 50 &&
                        estimate.offset_ns - estimate.slope * 1e6 >= -250 &&
                        estimate.slope <= OFFBEAT_DRIFT_LIMIT && estimate.slope >= -OFFBEAT_DRIFT_LIMIT;
        test_assert(!is_inside || is_near(confined_line.offset_ns, estimate.offset_ns, 1e-6),
                    "A line inside the polygon was moved.");
    }
}

/* Constraints stay in order, however many are added. */
static void the_history_stays_small_and_keeps_the_tightest_constraints(void) {
    offbeat_clock_history history;
    uint64_t seed = 9;
    memset(&history, 0, sizeof history);
    int64_t tightest_ns = INT64_MAX;
    for (int64_t i = 0; i < 30000; i++) {
        int64_t at_ns = SECOND + i * 20000000, slow_ns = (int64_t)(100000 * network_random(&seed));
        offbeat_clock_exchange exchange = {
            .sent_ns = at_ns, .answered_ns = at_ns + slow_ns, .received_ns = at_ns + 200000};
        if (i >= 29000 && slow_ns < tightest_ns)
            tightest_ns = slow_ns;
        offbeat_clock_history_add(&history, &exchange, 0);
        test_assert(history.upper_constraints.count <= OFFBEAT_MOST_CONSTRAINTS, "%d constraints are kept.",
                    history.upper_constraints.count);
    }
    offbeat_clock_history_prune(&history, SECOND + 30000 * 20000000LL);
    int64_t tightest_kept_ns = INT64_MAX;
    for (int i = 0; i < history.upper_constraints.count; i++) {
        if (history.upper_constraints.entries[i].limit_ns < tightest_kept_ns)
            tightest_kept_ns = history.upper_constraints.entries[i].limit_ns;
        test_assert(i == 0 || history.upper_constraints.entries[i].serial >
                                  history.upper_constraints.entries[i - 1].serial,
                    "Constraints are out of order.");
    }
    test_assert(tightest_kept_ns <= tightest_ns, "The tightest constraint of the last 20 s was dropped.");
    test_assert(history.upper_constraints.count < 70, "After 10 minutes %d constraints are kept.",
                history.upper_constraints.count);
}

static void conversions_are_inverse(void) {
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) {
        offbeat_clock_model model = {
            .at_ns = (int64_t)(1e15 * network_random(&seed)),
            .offset_ns = (int64_t)(1e15 * (network_random(&seed) - 0.5)),
            .line = {1e4 * (network_random(&seed) - 0.5), 8e-4 * (network_random(&seed) - 0.5)}};
        int64_t local_ns = model.at_ns + (int64_t)(1e12 * (network_random(&seed) - 0.5));
        int64_t global_ns = offbeat_clock_model_global_ns(&model, local_ns);
        int64_t back_ns = offbeat_clock_model_local_ns(&model, global_ns);
        test_assert(back_ns == local_ns || back_ns == local_ns - 1,
                    "The error of converting there and back is %lld ns.", (long long)(back_ns - local_ns));
        test_assert(offbeat_clock_model_global_ns(&model, back_ns) >= global_ns &&
                        offbeat_clock_model_global_ns(&model, back_ns - 1) < global_ns,
                    "The result is not the first local time that is not before the global one.");
    }
}

/* Synchronises two processes with the same identity whose clocks differ. */
static offbeat_clock_state sync_with_same_identity(int64_t difference_ns,
                                                   const offbeat_clock_model *reference) {
    offbeat_clock_state state;
    offbeat_clock_pair_sync sync;
    offbeat_clock_hello hello = {.identity = "this machine", .model = *reference};
    offbeat_clock_state_init(&state, &offbeat_clock_methods[0], 1);
    memcpy(state.identity, hello.identity, sizeof state.identity);
    offbeat_clock_pair_sync_begin(&sync, &state, &hello);
    for (int64_t now_ns = SECOND; offbeat_clock_pair_sync_needs_more(&sync); now_ns += 2000) {
        int64_t there_ns = now_ns + 500 + difference_ns;
        offbeat_clock_exchange exchange = {now_ns, offbeat_clock_model_global_ns(reference, there_ns), 1,
                                           there_ns, now_ns + 1000};
        offbeat_clock_pair_sync_add(&sync, &exchange);
    }
    offbeat_clock_pair_sync_end(&sync);
    return state;
}

static void one_physical_clock_is_detected_unless_exchanges_contradict_it(void) {
    offbeat_clock_model reference = offbeat_clock_model_of_root(0, 1);
    offbeat_clock_state state = sync_with_same_identity(0, &reference);
    test_assert(state.model.is_shared && offbeat_clock_model_bound_ns(&state.model, 9 * SECOND) == 0,
                "A process on rank 0's machine does not share rank 0's clock.");
    state = sync_with_same_identity(430000, &reference);
    test_assert(!state.model.is_shared, "Clocks that differ by 430 us count as one.");
    test_assert(offbeat_clock_model_global_ns(&state.model, SECOND) >= SECOND + 430000 - 501 &&
                    offbeat_clock_model_global_ns(&state.model, SECOND) <= SECOND + 430000 + 501,
                "The offset between two clocks with the same identity was not estimated.");
    offbeat_clock_model other_model = {.at_ns = SECOND,
                                       .offset_ns = 777,
                                       .line = {0.25, 1e-5},
                                       .resolution_ns = 1,
                                       .possible = offbeat_clock_polygon_box(-50, 50)};
    state = sync_with_same_identity(0, &other_model);
    for (int64_t t_ns = 0; t_ns < 5 * SECOND; t_ns += SECOND / 3)
        test_assert(!state.model.is_shared &&
                        offbeat_clock_model_global_ns(&state.model, t_ns) ==
                            offbeat_clock_model_global_ns(&other_model, t_ns) &&
                        offbeat_clock_model_bound_ns(&state.model, t_ns) ==
                            offbeat_clock_model_bound_ns(&other_model, t_ns),
                    "Two processes of one node, which is not rank 0's, have different clocks.");
}

int main(void) {
    the_tree_reaches_all_processes_in_logarithmic_rounds();
    all_processes_are_synchronised_once_by_tree_and_star();
    all_processes_are_synchronised_once_by_nodes();
    a_virtual_clock_follows_its_text();
    a_wandering_clock_stays_within_its_amplitude();
    an_interval_holds_the_true_offset_of_a_drifting_clock();
    an_exchange_that_contradicts_all_others_replaces_them();
    a_polygon_contains_what_its_constraints_allow();
    a_polygon_never_loses_the_true_line();
    a_fit_goes_through_its_points();
    the_midpoint_comes_from_the_shortest_round_trips();
    estimates_are_confined_to_the_polygon();
    the_history_stays_small_and_keeps_the_tightest_constraints();
    conversions_are_inverse();
    one_physical_clock_is_detected_unless_exchanges_contradict_it();
    return 0;
}
