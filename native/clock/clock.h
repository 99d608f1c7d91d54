/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file clock.h
 * What a shared clock is made of, for the files of this room; users see offbeat/clock.h.
 */
#ifndef OFFBEAT_CLOCK_CLOCK_H
#define OFFBEAT_CLOCK_CLOCK_H

#include "clock/lesson.h"
#include "clock/nodes.h"
#include "clock/order.h"
#include "clock/source.h"

#include <offbeat/clock.h>

struct offbeat_clock {
    MPI_Comm comm;
    int rank, size;
    offbeat_source source;
    offbeat_pupil pupil;
    offbeat_members node, leaders; /* of a method that learns by node; what the order points to */
    offbeat_order order;
    int64_t synced_at_ns; /* local time at which the last sync ended */
    offbeat_sync_facts facts;
};

#endif
