/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the shared clock promise, each by itself and without MPI: who meets whom, virtual clocks,
 * intervals, polygons, the memory of limits, fits, models, and whether two clocks are one.
 */
#include "clock/lesson.h"
#include "clock/limits.h"
#include "clock/network.h"
#include "clock/order.h"
#include "clock/promise.h"
#include "clock/tree.h"
#include "clock/virtual.h"

#include <string.h>

static const int64_t SECOND = 1000000000;

static int is_near(double a, double b, double distance) {
    return a - b <= distance && b - a <= distance;
}

static int tree_depth(int rank) {
    int depth = 0;
    for (; rank != 0; rank = offbeat_tree_parent(rank))
        depth++;
    return depth;
}

static void the_tree_reaches_everybody_in_logarithmic_rounds(void) {
    for (int size = 1; size <= 300; size++) {
        int reached = 1, limit = 0;
        while ((1 << limit) < size)
            limit++;
        for (int rank = 0; rank < size; rank++) {
            int children = 0;
            for (int m = offbeat_tree_span(rank, size) / 2; m > 0; m /= 2) {
                if (rank + m >= size)
                    continue;
                children++;
                promise(offbeat_tree_parent(rank + m) == rank, "p=%d: %d is not the parent of its child %d.",
                        size, rank, rank + m);
            }
            reached += children;
            promise(children + tree_depth(rank) <= limit, "p=%d: rank %d takes part in more than %d rounds.",
                    size, rank, limit);
        }
        promise(reached == size, "p=%d: the tree reaches %d processes.", size, reached);
    }
}

/* Lets everybody go through its meetings, and holds those that both sides are ready for.
 * @return how many processes know the clock in the end */
static int taught(const offbeat_order *orders, int size) {
    int next[64] = {0}, knows[64] = {1}, count = 1;
    for (int is_moving = 1; is_moving;) {
        is_moving = 0;
        for (int rank = 0; rank < size; rank++) {
            offbeat_meeting own, other;
            if (!offbeat_order_meeting(&orders[rank], next[rank], &own) || own.teaches ||
                !offbeat_order_meeting(&orders[own.peer], next[own.peer], &other) || other.peer != rank)
                continue;
            promise(other.teaches, "Rank %d and rank %d both want to learn from the other.", rank, own.peer);
            promise(knows[own.peer], "Rank %d teaches what it does not know.", own.peer);
            promise(!knows[rank], "Rank %d learns twice.", rank);
            knows[rank] = is_moving = 1;
            count++;
            next[rank]++;
            next[own.peer]++;
        }
    }
    for (int rank = 0; rank < size; rank++) {
        offbeat_meeting left;
        promise(!offbeat_order_meeting(&orders[rank], next[rank], &left),
                "Rank %d waits for rank %d for ever.", rank, left.peer);
    }
    return count;
}

static void everybody_learns_once_in_every_order(void) {
    offbeat_order orders[64];
    for (int is_star = 0; is_star <= 1; is_star++)
        for (int size = 1; size <= 64; size++) {
            memset(orders, 0, sizeof orders);
            for (int rank = 0; rank < size; rank++)
                orders[rank].stages[0] = (offbeat_stage){is_star, rank, size, NULL};
            promise(taught(orders, size) == size, "p=%d: not everybody learns.", size);
        }
}

/* Processes dealt out to nodes in turn; the last nodes have one less. */
static void everybody_learns_once_by_nodes(void) {
    for (int nodes = 1; nodes <= 9; nodes++)
        for (int size = nodes; size <= 40; size++) {
            offbeat_order orders[64];
            int members[9][64], leaders[9];
            memset(orders, 0, sizeof orders);
            for (int rank = 0; rank < size; rank++) {
                int node = rank % nodes;
                members[node][rank / nodes] = rank;
                leaders[node] = members[node][0];
                if (rank < nodes)
                    orders[rank].stages[0] = (offbeat_stage){0, node, nodes, leaders};
                orders[rank].stages[1] =
                    (offbeat_stage){0, rank / nodes, (size - node + nodes - 1) / nodes, members[node]};
            }
            promise(taught(orders, size) == size, "p=%d on %d nodes: not everybody learns.", size, nodes);
        }
}

static void a_virtual_clock_is_as_its_text_says(void) {
    char why[200];
    offbeat_virtual bend;
    const char *text =
        "epoch=1000000000;0:drift=1.5;3:offset=-70,drift=100,step=5000@2,step=-9@3;12:offset=3";
    promise(offbeat_virtual_parse(text, 3, &bend, why, sizeof why) == 0, "'%s' was refused: %s", text, why);
    promise(offbeat_virtual_ns(&bend, SECOND) == SECOND - 70, "The offset at the epoch is wrong.");
    promise(offbeat_virtual_ns(&bend, 2 * SECOND) == 2 * SECOND - 70 + 100000, "The drift is wrong.");
    promise(offbeat_virtual_ns(&bend, 3 * SECOND) == 3 * SECOND - 70 + 205000, "The first step is wrong.");
    promise(offbeat_virtual_ns(&bend, 4 * SECOND) == 4 * SECOND - 79 + 305000, "The second step is wrong.");
    promise(offbeat_virtual_parse(text, 12, &bend, why, sizeof why) == 0, "'%s' was refused: %s", text, why);
    promise(offbeat_virtual_ns(&bend, 7) == 10, "Rank 12 has the offset of another one.");
    promise(offbeat_virtual_parse(text, 1, &bend, why, sizeof why) == 0, "'%s' was refused: %s", text, why);
    promise(offbeat_virtual_ns(&bend, 7) == 7, "A rank that is not named has a bent clock.");
}

/* Its rate stays within the given one, and changes evenly. */
static void a_wandering_clock_keeps_to_its_rate(void) {
    char why[200];
    offbeat_virtual bend;
    promise(offbeat_virtual_parse("0:wander=8/4", 0, &bend, why, sizeof why) == 0, "%s", why);
    const int64_t step_ns = SECOND / 100;
    double before = 0;
    for (int64_t t_ns = 0; t_ns < 20 * SECOND; t_ns += step_ns) {
        int64_t gained_ns = offbeat_virtual_ns(&bend, t_ns + step_ns) - offbeat_virtual_ns(&bend, t_ns);
        double rate_ppm = ((double)gained_ns / (double)step_ns - 1) * 1e6;
        promise(rate_ppm < 8.2 && rate_ppm > -8.2, "The rate is %.2f ppm.", rate_ppm);
        promise(t_ns == 0 || is_near(rate_ppm, before, 0.3), "The rate jumps by %.2f ppm.",
                rate_ppm - before);
        before = rate_ppm;
    }
    promise(offbeat_virtual_ns(&bend, 40 * SECOND) == 40 * SECOND, "A whole period leaves something behind.");
}

/* A remote clock that runs 150 ppm fast, behind a network with delays from 1 to some 50 us each way. */
static void an_interval_holds_the_true_offset_of_a_drifting_clock(void) {
    const int64_t offset_ns = -123456789;
    offbeat_interval interval = {.exchanges = 0};
    int64_t now_ns = SECOND, low_ns, high_ns;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        int64_t there_ns = 1000 + (int64_t)(50000 * offbeat_random(&seed));
        int64_t back_ns = 1000 + (int64_t)(50000 * offbeat_random(&seed));
        int64_t reached_ns = now_ns + there_ns;
        offbeat_exchange exchange = {.sent_ns = now_ns,
                                     .answered_ns = reached_ns + offset_ns + reached_ns * 3 / 20000,
                                     .answered_error_ns = i % 3,
                                     .received_ns = reached_ns + back_ns};
        offbeat_interval_narrow(&interval, &exchange);
        now_ns = exchange.received_ns + (int64_t)(100000 * offbeat_random(&seed));
        offbeat_interval_at(&interval, now_ns, &low_ns, &high_ns);
        int64_t truth_ns = offset_ns + now_ns * 3 / 20000;
        promise(low_ns <= truth_ns && truth_ns <= high_ns,
                "After %d exchanges the true offset left the interval.", i + 1);
    }
    promise(high_ns - low_ns < 20000, "2000 exchanges left an interval of %lld ns.",
            (long long)(high_ns - low_ns));
}

static void an_exchange_that_contradicts_all_others_replaces_them(void) {
    offbeat_interval interval = {.exchanges = 0};
    int64_t low_ns, high_ns;
    offbeat_exchange before = {.sent_ns = 0, .answered_ns = 500, .received_ns = 1000};
    offbeat_exchange after = {.sent_ns = 2000, .answered_ns = 1000002500, .received_ns = 3000};
    offbeat_interval_narrow(&interval, &before);
    promise(offbeat_interval_narrow(&interval, &after),
            "A clock that was set by a second passed for nothing new.");
    offbeat_interval_at(&interval, 3000, &low_ns, &high_ns);
    promise(low_ns <= SECOND && SECOND <= high_ns, "The interval did not follow a clock that was set.");
}

static int is_same(const offbeat_polygon *a, const offbeat_polygon *b) {
    int same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = is_near(a->corners[i].offset_ns, b->corners[i].offset_ns, 0) &&
               is_near(a->corners[i].slope, b->corners[i].slope, 0);
    return same;
}

static void a_polygon_is_what_its_limits_leave(void) {
    offbeat_polygon polygon = offbeat_polygon_box(-100, 300);
    offbeat_line centre = offbeat_polygon_centroid(&polygon);
    promise(is_near(centre.offset_ns, 100, 1e-9) && is_near(centre.slope, 0, 1e-15),
            "A box is off its centre.");
    offbeat_polygon_cut_above(&polygon, 0, 100);
    offbeat_polygon_cut_below(&polygon, 0, 0);
    promise(polygon.count == 4, "A box that was cut along its sides has %d corners.", polygon.count);
    double half = 1e6 * OFFBEAT_DRIFT_LIMIT;
    offbeat_line middle = {50, 0};
    promise(is_near(offbeat_polygon_reach(&polygon, middle, 1e6), 50 + half, 1e-6), "The reach is wrong.");
    /* Now slopes above 0 are impossible from 100 down to 0: a triangle is missing. */
    offbeat_polygon_cut_above(&polygon, 1e6, 0);
    centre = offbeat_polygon_centroid(&polygon);
    promise(centre.slope < 0 && polygon.count >= 3, "A cut of the fast lines leaves the middle at %.1f ppm.",
            centre.slope * 1e6);
    offbeat_polygon before = polygon;
    promise(!offbeat_polygon_cut_above(&polygon, 0, -1), "Limits that exclude each other leave a line.");
    promise(is_same(&before, &polygon), "A cut that leaves nothing changed the polygon.");
}

/* More limits than a polygon has corners: it stays a polygon, and none of the right lines is lost. */
static void a_polygon_never_loses_a_line_that_is_possible(void) {
    offbeat_polygon polygon = offbeat_polygon_box(-1e6, 1e6);
    const offbeat_line truth = {12.5, 30e-6};
    for (int i = -2000; i < 2000; i++) {
        double elapsed_ns = i * 1e5, bend_ns = 1 + elapsed_ns * elapsed_ns * 1e-15;
        offbeat_polygon_cut_above(&polygon, elapsed_ns, truth.offset_ns + truth.slope * elapsed_ns + bend_ns);
        offbeat_polygon_cut_below(&polygon, elapsed_ns, truth.offset_ns + truth.slope * elapsed_ns - bend_ns);
        promise(polygon.count >= 3 && polygon.count <= OFFBEAT_MOST_CORNERS, "It has %d corners.",
                polygon.count);
    }
    offbeat_line centre = offbeat_polygon_centroid(&polygon);
    promise(is_near(centre.offset_ns, truth.offset_ns, 0.2) && is_near(centre.slope, truth.slope, 1e-8),
            "The middle is %.3f ns and %.3f ppm.", centre.offset_ns, centre.slope * 1e6);
}

static void a_fit_goes_through_its_points(void) {
    offbeat_fit fit = {.exchanges_a_point = 3};
    for (int i = 0; i < 30; i++) {
        int64_t at_ns = 5 * SECOND + i * 100000, slow_ns = i % 3 == 1 ? 0 : 7777777;
        int64_t offset_ns = -400 * SECOND + i * 5; /* 50 ppm */
        offbeat_exchange exchange = {
            .sent_ns = at_ns - 500, .answered_ns = at_ns + offset_ns, .received_ns = at_ns + 500 + slow_ns};
        offbeat_fit_add(&fit, &exchange);
    }
    offbeat_line line = offbeat_fit_line(&fit, 6 * SECOND, -400 * SECOND);
    promise(is_near(line.slope, 50e-6, 1e-12) && is_near(line.offset_ns, 50000, 1e-3),
            "The line has %.3f ppm and %.3f ns.", line.slope * 1e6, line.offset_ns);
}

static void the_quickest_exchanges_tell_the_middle(void) {
    offbeat_quickest quickest = {.seen = 0};
    uint64_t seed = 11;
    const int64_t offset_ns = 123456789012345;
    for (int i = 0; i < 40; i++) {
        /* Every other one takes 1000 ns and is off by up to 10 ns; the rest is slow one way. */
        int64_t at_ns = SECOND + i * 100000, noise_ns = (int64_t)(20 * offbeat_random(&seed)) - 10;
        offbeat_exchange exchange = {.sent_ns = at_ns,
                                     .answered_ns = at_ns + 500 + noise_ns + offset_ns,
                                     .received_ns = at_ns + 1000 + (i % 2 ? 1000 * i : 0)};
        offbeat_quickest_add(&quickest, &exchange);
        promise(quickest.count == (i < OFFBEAT_MOST_QUICKEST ? i + 1 : OFFBEAT_MOST_QUICKEST),
                "Of %d exchanges %d are remembered.", i + 1, quickest.count);
    }
    offbeat_middle middle = offbeat_quickest_middle(&quickest);
    promise(middle.round_trip_ns == 1000, "The quickest took %lld ns.", (long long)middle.round_trip_ns);
    promise(llabs(middle.offset_ns - offset_ns) <= 6, "The middle is %lld ns off.",
            (long long)(middle.offset_ns - offset_ns));
    promise(middle.at_ns > SECOND && middle.at_ns < SECOND + 40 * 100000, "The middle is of another time.");
}

static void likely_lines_are_confined_to_the_possible_ones(void) {
    offbeat_polygon polygon = offbeat_polygon_box(-100, 300);
    offbeat_polygon_cut_above(&polygon, 1e6, 50);
    offbeat_polygon_cut_below(&polygon, -1e6, -250);
    uint64_t seed = 5;
    for (int i = 0; i < 5000; i++) {
        offbeat_line wish = {2000 * (offbeat_random(&seed) - 0.5), 2e-3 * (offbeat_random(&seed) - 0.5)};
        offbeat_line given = offbeat_polygon_confined(&polygon, wish);
        promise(given.offset_ns >= -100 - 1e-6 && given.offset_ns <= 300 + 1e-6 &&
                    given.offset_ns + given.slope * 1e6 <= 50 + 1e-6 &&
                    given.offset_ns - given.slope * 1e6 >= -250 - 1e-6 &&
                    given.slope <= OFFBEAT_DRIFT_LIMIT + 1e-12 && given.slope >= -OFFBEAT_DRIFT_LIMIT - 1e-12,
                "The line %.1f ns, %.1f ppm is not possible.", given.offset_ns, given.slope * 1e6);
        int was_possible = wish.offset_ns >= -100 && wish.offset_ns <= 300 &&
                           wish.offset_ns + wish.slope * 1e6 <= 50 &&
                           wish.offset_ns - wish.slope * 1e6 >= -250 && wish.slope <= OFFBEAT_DRIFT_LIMIT &&
                           wish.slope >= -OFFBEAT_DRIFT_LIMIT;
        promise(!was_possible || is_near(given.offset_ns, wish.offset_ns, 1e-6),
                "A possible line was moved.");
    }
}

/* However many limits come: those that are kept are kept in order, and few. */
static void the_memory_stays_small_and_keeps_the_tightest(void) {
    offbeat_history history;
    uint64_t seed = 9;
    memset(&history, 0, sizeof history);
    int64_t tightest_ns = INT64_MAX;
    for (int64_t i = 0; i < 30000; i++) {
        int64_t at_ns = SECOND + i * 20000000, slow_ns = (int64_t)(100000 * offbeat_random(&seed));
        offbeat_exchange exchange = {
            .sent_ns = at_ns, .answered_ns = at_ns + slow_ns, .received_ns = at_ns + 200000};
        if (i >= 29000 && slow_ns < tightest_ns)
            tightest_ns = slow_ns;
        offbeat_history_add(&history, &exchange, 0);
        promise(history.above.count <= OFFBEAT_MOST_LIMITS, "%d limits are remembered.", history.above.count);
    }
    offbeat_history_thin(&history, SECOND + 30000 * 20000000LL);
    int64_t kept_ns = INT64_MAX;
    for (int i = 0; i < history.above.count; i++) {
        if (history.above.limits[i].limit_ns < kept_ns)
            kept_ns = history.above.limits[i].limit_ns;
        promise(i == 0 || history.above.limits[i].serial > history.above.limits[i - 1].serial,
                "Limits are out of order.");
    }
    promise(kept_ns <= tightest_ns, "The tightest limit of the last 20 s was forgotten.");
    promise(history.above.count < 70, "After 10 minutes %d limits are remembered.", history.above.count);
}

static void conversions_are_inverse(void) {
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) {
        offbeat_model model = {
            .at_ns = (int64_t)(1e15 * offbeat_random(&seed)),
            .offset_ns = (int64_t)(1e15 * (offbeat_random(&seed) - 0.5)),
            .line = {1e4 * (offbeat_random(&seed) - 0.5), 8e-4 * (offbeat_random(&seed) - 0.5)}};
        int64_t local_ns = model.at_ns + (int64_t)(1e12 * (offbeat_random(&seed) - 0.5));
        int64_t global_ns = offbeat_model_global_ns(&model, local_ns);
        int64_t back_ns = offbeat_model_local_ns(&model, global_ns);
        promise(back_ns == local_ns || back_ns == local_ns - 1, "There and back is %lld ns off.",
                (long long)(back_ns - local_ns));
        promise(offbeat_model_global_ns(&model, back_ns) >= global_ns &&
                    offbeat_model_global_ns(&model, back_ns - 1) < global_ns,
                "It is not the first local time that is not before the global one.");
    }
}

/* A lesson between two processes of the same identity whose clocks are apart. */
static offbeat_pupil taught_by_the_same_clock(int64_t apart_ns, const offbeat_model *teacher) {
    offbeat_pupil pupil;
    offbeat_lesson lesson;
    offbeat_opening opening = {.identity = "this machine", .model = *teacher};
    offbeat_pupil_init(&pupil, &offbeat_methods[0], 1);
    memcpy(pupil.identity, opening.identity, sizeof pupil.identity);
    offbeat_lesson_begin(&lesson, &pupil, &opening);
    for (int64_t now_ns = SECOND; offbeat_lesson_wants_more(&lesson); now_ns += 2000) {
        int64_t there_ns = now_ns + 500 + apart_ns;
        offbeat_exchange exchange = {now_ns, offbeat_model_global_ns(teacher, there_ns), 1, there_ns,
                                     now_ns + 1000};
        offbeat_lesson_take(&lesson, &exchange);
    }
    offbeat_lesson_end(&lesson);
    return pupil;
}

static void one_physical_clock_is_believed_only_when_nothing_speaks_against_it(void) {
    offbeat_model reference = offbeat_model_of_reference(0, 1);
    offbeat_pupil pupil = taught_by_the_same_clock(0, &reference);
    promise(pupil.model.is_shared && offbeat_model_bound_ns(&pupil.model, 9 * SECOND) == 0,
            "A process on rank 0's machine does not share its clock.");
    pupil = taught_by_the_same_clock(430000, &reference);
    promise(!pupil.model.is_shared, "Clocks that are 430 us apart count as one.");
    promise(offbeat_model_global_ns(&pupil.model, SECOND) >= SECOND + 430000 - 501 &&
                offbeat_model_global_ns(&pupil.model, SECOND) <= SECOND + 430000 + 501,
            "The offset between two clocks of the same name was not learned.");
    offbeat_model other = {.at_ns = SECOND,
                           .offset_ns = 777,
                           .line = {0.25, 1e-5},
                           .resolution_ns = 1,
                           .possible = offbeat_polygon_box(-50, 50)};
    pupil = taught_by_the_same_clock(0, &other);
    for (int64_t t_ns = 0; t_ns < 5 * SECOND; t_ns += SECOND / 3)
        promise(!pupil.model.is_shared &&
                    offbeat_model_global_ns(&pupil.model, t_ns) == offbeat_model_global_ns(&other, t_ns) &&
                    offbeat_model_bound_ns(&pupil.model, t_ns) == offbeat_model_bound_ns(&other, t_ns),
                "Two processes of one node, none of them rank 0's, have different clocks.");
}

int main(void) {
    the_tree_reaches_everybody_in_logarithmic_rounds();
    everybody_learns_once_in_every_order();
    everybody_learns_once_by_nodes();
    a_virtual_clock_is_as_its_text_says();
    a_wandering_clock_keeps_to_its_rate();
    an_interval_holds_the_true_offset_of_a_drifting_clock();
    an_exchange_that_contradicts_all_others_replaces_them();
    a_polygon_is_what_its_limits_leave();
    a_polygon_never_loses_a_line_that_is_possible();
    a_fit_goes_through_its_points();
    the_quickest_exchanges_tell_the_middle();
    likely_lines_are_confined_to_the_possible_ones();
    the_memory_stays_small_and_keeps_the_tightest();
    conversions_are_inverse();
    one_physical_clock_is_believed_only_when_nothing_speaks_against_it();
    return 0;
}
