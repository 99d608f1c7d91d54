/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lesson.h
 * How a process learns the shared clock from another one: how many exchanges, and what is made of them.
 *
 * Nothing here communicates: clock.c carries the exchanges, and so does a model of a network in tests.
 */
#ifndef OFFBEAT_CLOCK_LESSON_H
#define OFFBEAT_CLOCK_LESSON_H

#include "clock/exchange.h"
#include "clock/fit.h"
#include "clock/history.h"
#include "clock/interval.h"
#include "clock/method.h"
#include "clock/model.h"
#include "clock/quickest.h"
#include "clock/source.h"

/** What a process knows of the shared clock, from lesson to lesson. */
typedef struct offbeat_pupil {
    const offbeat_method *method;
    int exchanges, fit_points; /**< of one lesson; the method's own numbers, or others */
    int64_t resolution_ns;     /**< of the local clock */
    char identity[OFFBEAT_IDENTITY_BYTES];
    offbeat_history history;
    offbeat_model model; /**< of no use before the first lesson */
    int contradictions;
} offbeat_pupil;

/** What a teacher says at the beginning. */
typedef struct offbeat_opening {
    char identity[OFFBEAT_IDENTITY_BYTES]; /**< of the physical clock that the teacher reads */
    offbeat_model model;
} offbeat_opening;

/** Exchanges that wait for the middle to be known. */
enum { OFFBEAT_MOST_WAITING = 64 };

/** One lesson. */
typedef struct offbeat_lesson {
    offbeat_pupil *pupil;
    const offbeat_opening *opening;
    int is_same_clock; /**< same identities, and no exchange so far that speaks against it */
    int exchanges, fruitless;
    int64_t began_ns, ended_ns; /**< local times of the first and the last exchange */
    offbeat_quickest quickest;
    offbeat_interval interval;
    offbeat_fit fit;
    int waiting_count;
    offbeat_exchange waiting[OFFBEAT_MOST_WAITING];
} offbeat_lesson;

/** A process that knows nothing yet. */
void offbeat_pupil_init(offbeat_pupil *pupil, const offbeat_method *method, int64_t resolution_ns);

/** Makes the process the reference: the shared clock is its own. */
void offbeat_pupil_be_reference(offbeat_pupil *pupil, int64_t now_ns);

/** What the process says when it teaches. */
offbeat_opening offbeat_pupil_opening(const offbeat_pupil *pupil);

/** The error that the process answers with at any time between two, rounding of its clock included. */
int64_t offbeat_pupil_error_ns(const offbeat_pupil *pupil, int64_t from_ns, int64_t to_ns);

/** Begins a lesson. @param opening must outlive it, as must the pupil */
void offbeat_lesson_begin(offbeat_lesson *lesson, offbeat_pupil *pupil, const offbeat_opening *opening);

/** Whether another exchange is wanted; at least one is. */
int offbeat_lesson_wants_more(const offbeat_lesson *lesson);

/** Takes an exchange in. */
void offbeat_lesson_take(offbeat_lesson *lesson, const offbeat_exchange *exchange);

/** The shortest round trip so far, in nanoseconds; 0 before the first. */
int64_t offbeat_lesson_best_round_trip_ns(const offbeat_lesson *lesson);

/** Draws the conclusions: the pupil has a model. */
void offbeat_lesson_end(offbeat_lesson *lesson);

#endif
