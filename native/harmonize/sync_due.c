/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/sync_due.h"

enum { SMALL_NS = 500, SHARE = 20 };

int offbeat_sync_helps(int64_t bound_after_sync_ns, int64_t bound_now_ns) {
    return bound_now_ns - bound_after_sync_ns > bound_after_sync_ns + SMALL_NS;
}

int offbeat_sync_is_affordable(int64_t age_ns, int64_t length_ns) {
    return age_ns / (SHARE - 1) >= length_ns;
}
