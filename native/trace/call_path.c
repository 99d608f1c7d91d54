/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/call_path.h"

#include "trace/define.h"
#include "trace/python_frames.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum {
    FRAMES = 1024, /* that a thread remembers; a power of two */
    PATHS = 1024,  /* the same of paths */
    RECENT = 64,   /* the same of paths whose frames stand together */
    MOST_PATHS = 1 << 18
};

/* A frame that was unwound. `caller` is where its return address lies; NULL: it is the outermost one. */
typedef struct known_frame {
    uint64_t address, stack;
    const uint64_t *caller;
    uint64_t caller_stack;
} known_frame;

typedef struct known_path {
    uint64_t hash, id; /* 0: nothing is known here */
} known_path;

/* A path of late: where the return addresses of its frames lie, and what they were. Each is looked at only
 * where those before it are the same, so that its frame is still there. */
typedef struct recent_path {
    uint64_t address, stack, site;
    int count;
    struct {
        const uint64_t *at;
        uint64_t value;
    } callers[OFFBEAT_MOST_DEPTH];
} recent_path;

typedef struct offbeat_call_paths {
    recent_path recent[RECENT];
    known_frame frames[FRAMES];
    known_path paths[PATHS];
} offbeat_call_paths;

/* Addresses of a path, and the stack pointers at them, innermost first. */
typedef struct stack_walk {
    int count, depth;
    uint64_t from; /* the stack pointer at the innermost one */
    uint64_t addresses[OFFBEAT_MOST_DEPTH + 1], stacks[OFFBEAT_MOST_DEPTH + 1];
} stack_walk;

/* All paths of the process: an open hash table. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known_path *all;
static size_t all_room, all_count;

static uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static known_frame *place_of(offbeat_call_paths *paths, uint64_t address, uint64_t stack) {
    return &paths->frames[mixed(address, stack) & (FRAMES - 1)];
}

/* The hash of the path, from frames that are known, which `recent` has afterwards. @return whether all are */
static int hash_known(offbeat_call_paths *paths, offbeat_caller caller, int depth, recent_path *recent,
                      uint64_t *hash) {
    uint64_t address = (uint64_t)(uintptr_t)caller.address, stack = (uint64_t)(uintptr_t)caller.frame;
    uint64_t sum = mixed(0, address);
    recent->site = 0;
    recent->address = address;
    recent->stack = stack;
    recent->count = 0;
    while (recent->count < depth - 1) {
        const known_frame *known = place_of(paths, address, stack);
        if (known->address != address || known->stack != stack)
            return 0;
        if (known->caller == NULL)
            break;
        address = *known->caller;
        stack = known->caller_stack;
        sum = mixed(sum, address);
        recent->callers[recent->count].at = known->caller;
        recent->callers[recent->count++].value = address;
    }
    *hash = sum;
    return 1;
}

static inline recent_path *recent_of(offbeat_call_paths *paths, offbeat_caller caller) {
    const uint64_t address = (uint64_t)(uintptr_t)caller.address, stack = (uint64_t)(uintptr_t)caller.frame;
    return &paths->recent[(address ^ address >> 6 ^ stack >> 4) & (RECENT - 1)];
}

static inline int is_the_same(const recent_path *recent, offbeat_caller caller) {
    if (recent->site == 0 || recent->address != (uint64_t)(uintptr_t)caller.address ||
        recent->stack != (uint64_t)(uintptr_t)caller.frame)
        return 0;
    for (int i = 0; i < recent->count; i++)
        if (*recent->callers[i].at != recent->callers[i].value)
            return 0;
    return 1;
}

/* Frames inside of the wrapper have a lower stack pointer. */
static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *into) {
    stack_walk *walk = into;
    const uint64_t stack = (uint64_t)_Unwind_GetCFA(context), address = (uint64_t)_Unwind_GetIP(context);
    if (stack < walk->from)
        return _URC_NO_REASON;
    if (address == 0 || walk->count == walk->depth)
        return _URC_END_OF_STACK;
    walk->addresses[walk->count] = address;
    walk->stacks[walk->count++] = stack;
    return _URC_NO_REASON;
}

/* Where the return address of a frame lies, at the frame's upper end on x86 and somewhere in it elsewhere. */
static const uint64_t *find_slot(uint64_t from, uint64_t to, uint64_t address) {
    for (uint64_t at = to - 8; at >= from && at < to; at -= 8)
        if (*(const uint64_t *)(uintptr_t)at == address)
            return (const uint64_t *)(uintptr_t)at;
    return NULL;
}

/* Remembers the frames of a walk, up to one that cannot be. */
static void remember_frames(offbeat_call_paths *paths, const stack_walk *walk) {
    for (int i = 0; i < walk->count && i + 1 < walk->depth; i++) {
        known_frame known = {.address = walk->addresses[i], .stack = walk->stacks[i]};
        if (i + 1 < walk->count) {
            known.caller_stack = walk->stacks[i + 1];
            known.caller = find_slot(walk->stacks[i], walk->stacks[i + 1], walk->addresses[i + 1]);
            if (known.caller == NULL)
                return;
        }
        *place_of(paths, known.address, known.stack) = known;
    }
}

/* The call path as the unwinder finds it; the return address alone where it finds nothing. */
static void unwind(stack_walk *walk, offbeat_caller caller, int depth) {
    walk->count = 0;
    walk->depth = depth;
    walk->from = (uint64_t)(uintptr_t)caller.frame;
    if (depth > 1)
        _Unwind_Backtrace(take_frame, walk);
    if (walk->count == 0 || walk->addresses[0] != (uint64_t)(uintptr_t)caller.address) {
        walk->addresses[0] = (uint64_t)(uintptr_t)caller.address;
        walk->stacks[0] = walk->from;
        walk->count = 1;
    }
}

/* The place of a hash in the table of all paths, with the lock held; NULL where there is no room. */
static known_path *place_in_all(uint64_t hash) {
    if (2 * (all_count + 1) > all_room) {
        const size_t room = all_room == 0 ? 256 : 2 * all_room;
        known_path *larger = all_count < MOST_PATHS ? calloc(room, sizeof *larger) : NULL;
        if (larger == NULL)
            return NULL;
        for (size_t i = 0; i < all_room; i++)
            if (all[i].id != 0) {
                size_t at = all[i].hash & (room - 1);
                while (larger[at].id != 0)
                    at = (at + 1) & (room - 1);
                larger[at] = all[i];
            }
        free(all);
        all = larger;
        all_room = room;
    }
    size_t at = hash & (all_room - 1);
    while (all[at].id != 0 && all[at].hash != hash)
        at = (at + 1) & (all_room - 1);
    return &all[at];
}

/* Writes a path into the file, with the lock held. */
static void define(uint64_t id, const stack_walk *walk, const offbeat_python_frames *python) {
    static char tail[sizeof walk->addresses + OFFBEAT_PYTHON_TEXT_BYTES];
    const size_t address_bytes = sizeof *walk->addresses * (size_t)walk->count;
    const size_t text_bytes = offbeat_python_text(python, tail + address_bytes);
    offbeat_trace_path path = {.id = (uint32_t)id,
                               .address_count = (uint16_t)walk->count,
                               .python_count = (uint16_t)python->count,
                               .text_bytes = (uint32_t)text_bytes};
    memcpy(tail, walk->addresses, address_bytes);
    offbeat_define(OFFBEAT_TRACE_PATH, &path, sizeof path, tail, address_bytes + text_bytes);
}

/* The id of a path that this thread doesn't know yet; 0 where there are too many. */
static uint64_t look_up(offbeat_lane *lane, uint64_t hash, const stack_walk *walk,
                        const offbeat_python_frames *python) {
    for (int i = 0; i < walk->count; i++)
        offbeat_mappings_see(lane, walk->addresses[i]);
    pthread_mutex_lock(&lock);
    known_path *place = place_in_all(hash);
    if (place != NULL && place->id == 0) {
        *place = (known_path){.hash = hash, .id = ++all_count};
        define(place->id, walk, python);
        offbeat_python_keep(python);
    }
    const uint64_t id = place != NULL ? place->id : 0;
    pthread_mutex_unlock(&lock);
    return id;
}

/* The hash of a path, as hash_known has it. */
static uint64_t hash_of(const stack_walk *walk) {
    uint64_t hash = 0;
    for (int i = 0; i < walk->count; i++)
        hash = mixed(hash, walk->addresses[i]);
    return hash;
}

/* The site of a call whose path this thread knows; 0 where it does not. */
static uint64_t known_site(offbeat_call_paths *paths, offbeat_caller caller, int depth, uint64_t python) {
    uint64_t hash;
    if (paths == NULL)
        return 0;
    recent_path *recent = recent_of(paths, caller);
    if (!hash_known(paths, caller, depth, recent, &hash))
        return 0;
    hash = mixed(hash, python);
    const known_path *known = &paths->paths[hash & (PATHS - 1)];
    if (known->hash != hash || known->id == 0)
        return 0;
    if (python == 0)
        recent->site = known->id | OFFBEAT_TRACE_IS_PATH;
    return known->id | OFFBEAT_TRACE_IS_PATH;
}

/* The site of a call whose path is not known; the address where it can't be written down. */
static uint64_t find_site(offbeat_lane *lane, offbeat_caller caller, int depth,
                          const offbeat_python_frames *python) {
    stack_walk walk;
    if (lane->paths == NULL)
        lane->paths = calloc(1, sizeof *lane->paths);
    unwind(&walk, caller, depth);
    const uint64_t hash = mixed(hash_of(&walk), python->hash);
    const uint64_t id = look_up(lane, hash, &walk, python);
    if (id == 0)
        return (uint64_t)(uintptr_t)caller.address;
    if (lane->paths != NULL) {
        remember_frames(lane->paths, &walk);
        lane->paths->paths[hash & (PATHS - 1)] = (known_path){hash, id};
    }
    return id | OFFBEAT_TRACE_IS_PATH;
}

/* Apart from what is called for every record: these have much to put on the stack. */
static __attribute__((noinline)) uint64_t find_native_site(offbeat_lane *lane, offbeat_caller caller,
                                                           int depth) {
    const offbeat_python_frames none = {.count = 0};
    return find_site(lane, caller, depth, &none);
}

static __attribute__((noinline)) uint64_t python_site(offbeat_lane *lane, offbeat_caller caller, int depth) {
    offbeat_python_frames python;
    offbeat_python_look(&python, depth);
    uint64_t site = known_site(lane->paths, caller, depth, python.hash);
    if (site == 0 && depth < 2 && python.count == 0)
        site = (uint64_t)(uintptr_t)caller.address;
    else if (site == 0)
        site = find_site(lane, caller, depth, &python);
    offbeat_python_let_go(&python);
    return site;
}

static __attribute__((noinline)) uint64_t native_site(offbeat_lane *lane, offbeat_caller caller) {
    const int depth = offbeat_process.wishes.depth;
    const uint64_t site = known_site(lane->paths, caller, depth, 0);
    return site != 0 ? site : find_native_site(lane, caller, depth);
}

uint64_t offbeat_call_path(offbeat_lane *lane, offbeat_caller caller) {
    if (offbeat_python_is_there())
        return python_site(lane, caller, offbeat_process.wishes.depth);
    if (lane->paths != NULL) {
        const recent_path *recent = recent_of(lane->paths, caller);
        if (is_the_same(recent, caller))
            return recent->site;
    }
    return native_site(lane, caller);
}
