/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/lesson.h"

#include <string.h>

/* Enough has been learned when so many exchanges in a row brought nothing, or when it took too long. */
enum { FEWEST_EXCHANGES = 10, FRUITLESS_EXCHANGES = 20 };
static const int64_t LONGEST_LESSON_NS = 20 * 1000 * 1000;

void offbeat_pupil_init(offbeat_pupil *pupil, const offbeat_method *method, int64_t resolution_ns) {
    memset(pupil, 0, sizeof *pupil);
    pupil->method = method;
    pupil->exchanges = method->exchanges;
    pupil->fit_points = method->fit_points;
    pupil->resolution_ns = resolution_ns;
}

void offbeat_pupil_be_reference(offbeat_pupil *pupil, int64_t now_ns) {
    pupil->model = offbeat_model_of_reference(now_ns, pupil->resolution_ns);
}

offbeat_opening offbeat_pupil_opening(const offbeat_pupil *pupil) {
    offbeat_opening opening = {.model = pupil->model};
    memcpy(opening.identity, pupil->identity, sizeof opening.identity);
    return opening;
}

int64_t offbeat_pupil_error_ns(const offbeat_pupil *pupil, int64_t from_ns, int64_t to_ns) {
    if (pupil->model.is_shared)
        return pupil->resolution_ns;
    /* A bound falls and then rises, so that it is largest at one of the ends. */
    int64_t first_ns = offbeat_model_bound_ns(&pupil->model, from_ns);
    int64_t last_ns = offbeat_model_bound_ns(&pupil->model, to_ns);
    return first_ns > last_ns ? first_ns : last_ns;
}

void offbeat_lesson_begin(offbeat_lesson *lesson, offbeat_pupil *pupil, const offbeat_opening *opening) {
    memset(lesson, 0, sizeof *lesson);
    lesson->pupil = pupil;
    lesson->opening = opening;
    lesson->is_same_clock = pupil->identity[0] != '\0' &&
                            strncmp(pupil->identity, opening->identity, sizeof pupil->identity) == 0;
    if (pupil->fit_points > 0)
        lesson->fit.exchanges_a_point = pupil->exchanges / pupil->fit_points;
    if (lesson->fit.exchanges_a_point == 0)
        lesson->fit.exchanges_a_point = 1;
    if (!pupil->method->remembers)
        memset(&pupil->history, 0, sizeof pupil->history);
}

int offbeat_lesson_wants_more(const offbeat_lesson *lesson) {
    const offbeat_pupil *pupil = lesson->pupil;
    if (lesson->exchanges == 0)
        return 1;
    if (lesson->is_same_clock)
        return lesson->exchanges < FEWEST_EXCHANGES && lesson->exchanges < pupil->exchanges;
    if (pupil->method->belief == OFFBEAT_FITTED)
        return lesson->exchanges < lesson->fit.exchanges_a_point * pupil->fit_points;
    if (lesson->exchanges >= pupil->exchanges || lesson->fruitless >= FRUITLESS_EXCHANGES)
        return 0;
    return lesson->exchanges < FEWEST_EXCHANGES || lesson->ended_ns - lesson->began_ns < LONGEST_LESSON_NS;
}

/* Hands the waiting exchanges to the history, now that the middle is known that tells tight from loose. */
static void remember(offbeat_lesson *lesson) {
    int64_t low_ns, high_ns;
    offbeat_interval_at(&lesson->interval, lesson->ended_ns, &low_ns, &high_ns);
    for (int i = 0; i < lesson->waiting_count; i++)
        offbeat_history_add(&lesson->pupil->history, &lesson->waiting[i], low_ns + (high_ns - low_ns) / 2);
    lesson->waiting_count = 0;
}

static void compare_clocks(offbeat_lesson *lesson, const offbeat_exchange *exchange) {
    int64_t slack_ns = lesson->pupil->resolution_ns;
    if (exchange->answered_local_ns < exchange->sent_ns - slack_ns ||
        exchange->answered_local_ns > exchange->received_ns + slack_ns)
        lesson->is_same_clock = 0;
}

/* Takes in an exchange whose error covers the readings of this process's clock, too. */
static void learn(offbeat_lesson *lesson, const offbeat_exchange *exchange) {
    lesson->fruitless = offbeat_interval_narrow(&lesson->interval, exchange) ? 0 : lesson->fruitless + 1;
    if (lesson->pupil->fit_points > 0)
        offbeat_fit_add(&lesson->fit, exchange);
    if (lesson->waiting_count == OFFBEAT_MOST_WAITING)
        remember(lesson);
    lesson->waiting[lesson->waiting_count++] = *exchange;
}

void offbeat_lesson_take(offbeat_lesson *lesson, const offbeat_exchange *exchange) {
    int64_t round_trip_ns = exchange->received_ns - exchange->sent_ns;
    if (round_trip_ns < 0) /* the local clock was set back meanwhile: the next one will contradict the last */
        return;
    if (lesson->exchanges == 0)
        lesson->began_ns = exchange->sent_ns;
    offbeat_quickest_add(&lesson->quickest, exchange);
    lesson->exchanges++;
    lesson->ended_ns = exchange->received_ns;
    compare_clocks(lesson, exchange);
    offbeat_exchange wider = *exchange;
    wider.answered_error_ns += lesson->pupil->resolution_ns;
    learn(lesson, &wider);
}

int64_t offbeat_lesson_best_round_trip_ns(const offbeat_lesson *lesson) {
    const offbeat_exchange *best = &lesson->quickest.exchanges[0];
    return best->received_ns - best->sent_ns;
}

/* The line that the method believes, counted from the model's moment and offset. */
static offbeat_line believed(const offbeat_lesson *lesson, const offbeat_model *model) {
    offbeat_line middle = {0, 0};
    switch (lesson->pupil->method->belief) {
    case OFFBEAT_FITTED:
        return offbeat_fit_line(&lesson->fit, model->at_ns, model->offset_ns);
    case OFFBEAT_CONFINED:
        return offbeat_history_line(&lesson->pupil->history, model->at_ns, model->offset_ns,
                                    &model->possible);
    default:
        return middle;
    }
}

void offbeat_lesson_end(offbeat_lesson *lesson) {
    offbeat_pupil *pupil = lesson->pupil;
    int64_t low_ns, high_ns;
    if (lesson->is_same_clock) {
        pupil->model = lesson->opening->model;
        memset(&pupil->history, 0, sizeof pupil->history);
        return;
    }
    remember(lesson);
    offbeat_history_add_middle(&pupil->history, offbeat_quickest_middle(&lesson->quickest));
    offbeat_interval_at(&lesson->interval, lesson->ended_ns, &low_ns, &high_ns);
    offbeat_model model = {.at_ns = lesson->ended_ns,
                           .offset_ns = low_ns + (high_ns - low_ns) / 2,
                           .resolution_ns = pupil->resolution_ns};
    pupil->contradictions +=
        offbeat_history_lines(&pupil->history, model.at_ns, model.offset_ns, &model.possible);
    offbeat_history_thin(&pupil->history, lesson->ended_ns);
    model.line = believed(lesson, &model);
    pupil->model = model;
}
