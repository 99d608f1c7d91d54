/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* syscall */
#include "partitioned/owner.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local char offbeat_partitioned_this_thread;

/* Values of `thread` that are no thread: no partition was marked yet, or the ownership is ending. */
static const char unclaimed_mark, ending_mark;

/* Commands of membarrier(2), which older kernel headers do not have. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

/* Each other thread of this process executes a memory barrier. If it worked once, it always does. */
static int membarrier(int command) {
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0) == 0;
#else
    (void)command;
    return 0;
#endif
}

int offbeat_partitioned_owners_work(void) {
    return membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED);
}

void offbeat_partitioned_owner_init(offbeat_partitioned_owner *owner, atomic_int *are_allowed) {
    const int is_allowed = atomic_load_explicit(are_allowed, memory_order_relaxed);
    atomic_init(&owner->thread, is_allowed ? &unclaimed_mark : NULL);
    atomic_init(&owner->is_updating, 0);
    owner->are_allowed = are_allowed;
}

/* `thread` is no longer the owner. After the barrier, the owner either sees this before its next update, or
 * is inside an update, which this thread sees. */
static void end(offbeat_partitioned_owner *owner) {
    membarrier(PRIVATE_EXPEDITED);
    while (atomic_load_explicit(&owner->is_updating, memory_order_acquire))
        sched_yield();
    atomic_store_explicit(owner->are_allowed, 0, memory_order_relaxed);
    atomic_store_explicit(&owner->thread, NULL, memory_order_release);
}

int offbeat_partitioned_owner_enter_or_end(offbeat_partitioned_owner *owner) {
    const void *this_thread = &offbeat_partitioned_this_thread, *thread;
    while ((thread = atomic_load_explicit(&owner->thread, memory_order_acquire)) != NULL) {
        if (thread == this_thread && offbeat_partitioned_owner_enter(owner))
            return 1;
        if (thread == &unclaimed_mark)
            atomic_compare_exchange_strong(&owner->thread, &thread, this_thread);
        else if (thread == &ending_mark)
            sched_yield();
        else if (thread != this_thread &&
                 atomic_compare_exchange_strong(&owner->thread, &thread, &ending_mark))
            end(owner);
    }
    return 0;
}
