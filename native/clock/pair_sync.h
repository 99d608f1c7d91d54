/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pair_sync.h
 * Pairwise synchronisation: a client estimates the shared clock from exchanges with a reference process that
 * was synchronised before.
 *
 * Nothing here communicates: clock.c sends the messages, and so does the network model of the tests.
 */
#ifndef OFFBEAT_CLOCK_PAIR_SYNC_H
#define OFFBEAT_CLOCK_PAIR_SYNC_H

#include "clock/exchange.h"
#include "clock/history.h"
#include "clock/model.h"
#include "clock/source.h"
#include "clock/sync_schedule.h"

/** The estimate of the shared clock in one process, kept between synchronisations. */
typedef struct offbeat_clock_state {
    const offbeat_sync_method *method;
    int exchanges, fit_points; /**< per synchronisation; the method's defaults, or the user's choice */
    int64_t resolution_ns;     /**< of the local clock */
    char identity[OFFBEAT_CLOCK_IDENTITY_BYTES];
    offbeat_clock_history history;
    offbeat_clock_model model; /**< invalid before the first synchronisation */
    int contradictions;
} offbeat_clock_state;

/** The first message of the reference process. */
typedef struct offbeat_clock_hello {
    char identity[OFFBEAT_CLOCK_IDENTITY_BYTES]; /**< of the reference process's physical clock */
    offbeat_clock_model model;
} offbeat_clock_hello;

enum { OFFBEAT_MAX_PENDING_EXCHANGES = 64 };

/** The client's side of one pairwise synchronisation. */
typedef struct offbeat_clock_pair_sync {
    offbeat_clock_state *state;
    const offbeat_clock_hello *hello;
    int is_same_clock; /**< equal identities, and no exchange so far contradicts that */
    int exchanges;
    int stalled_exchanges;      /**< latest exchanges in a row that did not narrow the interval */
    int64_t began_ns, ended_ns; /**< local times of the first and the last exchange */
    offbeat_clock_min_rtt min_rtt;
    offbeat_clock_interval interval;
    offbeat_clock_fit fit;
    int pending_count; /**< exchanges that are not in the history yet */
    offbeat_clock_exchange pending_exchanges[OFFBEAT_MAX_PENDING_EXCHANGES];
} offbeat_clock_pair_sync;

/** Initialises the state of a process that was never synchronised. */
void offbeat_clock_state_init(offbeat_clock_state *state, const offbeat_sync_method *method,
                              int64_t resolution_ns);

/** Makes this process the root: its local clock is the shared clock. */
void offbeat_clock_state_set_root(offbeat_clock_state *state, int64_t now_ns);

/** The first message that this process sends as the reference process. */
offbeat_clock_hello offbeat_clock_state_hello(const offbeat_clock_state *state);

/** The error bound of this process's answers between two local times, including its clock's resolution. */
int64_t offbeat_clock_state_error_ns(const offbeat_clock_state *state, int64_t from_ns, int64_t to_ns);

/** Begins a synchronisation. @p state and @p hello must outlive it. */
void offbeat_clock_pair_sync_begin(offbeat_clock_pair_sync *sync, offbeat_clock_state *state,
                                   const offbeat_clock_hello *hello);

/** Whether another exchange is needed. At least one always is. */
int offbeat_clock_pair_sync_needs_more(const offbeat_clock_pair_sync *sync);

/** Adds an exchange. */
void offbeat_clock_pair_sync_add(offbeat_clock_pair_sync *sync, const offbeat_clock_exchange *exchange);

/** The shortest round trip so far, in nanoseconds; 0 before the first exchange. */
int64_t offbeat_clock_pair_sync_min_rtt_ns(const offbeat_clock_pair_sync *sync);

/** Ends the synchronisation: computes the model in the client's state. */
void offbeat_clock_pair_sync_end(offbeat_clock_pair_sync *sync);

#endif
