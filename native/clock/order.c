/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/order.h"

#include "clock/tree.h"

#include <stddef.h>

/* The member that a member teaches as its number-th pupil; -1 when it has fewer. */
static int pupil(const offbeat_stage *stage, int number) {
    if (stage->is_star)
        return stage->index == 0 && number + 1 < stage->count ? number + 1 : -1;
    /* The child with the most descendants first: the others' subtrees are done by the time its is. */
    for (int distance = offbeat_tree_span(stage->index, stage->count) / 2; distance > 0; distance /= 2)
        if (stage->index + distance < stage->count && number-- == 0)
            return stage->index + distance;
    return -1;
}

static int rank_of(const offbeat_stage *stage, int member) {
    return stage->members != NULL ? stage->members[member] : member;
}

static int meeting_of(const offbeat_stage *stage, int number, offbeat_meeting *meeting) {
    if (stage->count == 0)
        return 0;
    int learns = stage->index != 0;
    if (learns && number == 0) {
        meeting->teaches = 0;
        meeting->peer = rank_of(stage, stage->is_star ? 0 : offbeat_tree_parent(stage->index));
        return 1;
    }
    int member = pupil(stage, number - learns);
    if (member < 0)
        return 0;
    meeting->teaches = 1;
    meeting->peer = rank_of(stage, member);
    return 1;
}

int offbeat_order_meeting(const offbeat_order *order, int number, offbeat_meeting *meeting) {
    int before = 0;
    while (before <= number && meeting_of(&order->stages[0], before, meeting))
        before++;
    return before > number || meeting_of(&order->stages[1], number - before, meeting);
}
