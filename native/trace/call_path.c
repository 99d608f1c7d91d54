/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/call_path.h"

#include "trace/trace_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

/* --- the mappings of code --- */

/* A mapping that is in the file. Mappings are never removed; where a later one overlaps an earlier one, the
 * later one is valid. */
typedef struct mapping {
    uint64_t start, end, offset, inode;
} mapping;

static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;
static mapping *mappings;
static size_t mapping_count, mapping_capacity;

static int is_defined(const mapping *candidate) {
    for (size_t i = mapping_count; i-- > 0;)
        if (candidate->start < mappings[i].end && candidate->end > mappings[i].start)
            return candidate->start == mappings[i].start && candidate->end == mappings[i].end &&
                   candidate->offset == mappings[i].offset && candidate->inode == mappings[i].inode;
    return 0;
}

static void add_mapping(const mapping *candidate) {
    if (mapping_count == mapping_capacity) {
        size_t larger = mapping_capacity == 0 ? 64 : 2 * mapping_capacity;
        mapping *larger_array = realloc(mappings, larger * sizeof *larger_array);
        if (larger_array == NULL)
            return;
        mappings = larger_array;
        mapping_capacity = larger;
    }
    mappings[mapping_count++] = *candidate;
}

/* Parses a number and advances *text past it and the character after it. */
static uint64_t parse_number(char **text, int base) {
    char *end;
    uint64_t number = strtoull(*text, &end, base);
    *text = *end != '\0' ? end + 1 : end;
    return number;
}

/* Advances *text past a field and the spaces after it. */
static void skip_field(char **text) {
    *text += strcspn(*text, " ");
    *text += strspn(*text, " ");
}

/* A line of /proc/self/maps: "7f00-7f10 r-xp 00002000 08:01 1234   /usr/lib/libc.so.6". */
static void process_line(char *line) {
    mapping candidate;
    line[strcspn(line, "\n")] = '\0';
    candidate.start = parse_number(&line, 16);
    candidate.end = parse_number(&line, 16);
    const int is_code = strlen(line) > 4 && line[2] == 'x';
    skip_field(&line);
    candidate.offset = parse_number(&line, 16);
    skip_field(&line);
    candidate.inode = parse_number(&line, 10);
    line += strspn(line, " ");
    if (!is_code || is_defined(&candidate))
        return;
    offbeat_trace_mapping definition = {.start = candidate.start,
                                        .end = candidate.end,
                                        .offset = candidate.offset,
                                        .path_bytes = (uint32_t)strlen(line)};
    offbeat_tracer_define(OFFBEAT_TRACE_MAPPING, &definition, sizeof definition, line, definition.path_bytes);
    add_mapping(&candidate);
}

/* With the lock held. */
static void read_mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t bytes = 0;
    while (maps != NULL && getline(&line, &bytes, maps) > 0)
        process_line(line);
    free(line);
    if (maps != NULL)
        fclose(maps);
}

void offbeat_tracer_define_mappings(void) {
    pthread_mutex_lock(&mappings_lock);
    read_mappings();
    pthread_mutex_unlock(&mappings_lock);
}

/* The latest mapping of an address. With the lock held. */
static const mapping *mapping_of(uint64_t address) {
    for (size_t i = mapping_count; i-- > 0;)
        if (address >= mappings[i].start && address < mappings[i].end)
            return &mappings[i];
    return NULL;
}

void offbeat_tracer_find_mapping(offbeat_tracer_thread *thread, uint64_t address) {
    pthread_mutex_lock(&mappings_lock);
    const mapping *candidate = mapping_of(address);
    const int is_new = candidate == NULL;
    if (is_new) {
        read_mappings();
        candidate = mapping_of(address);
    }
    if (candidate != NULL) {
        thread->code_start = candidate->start;
        thread->code_bytes = candidate->end - candidate->start;
    }
    pthread_mutex_unlock(&mappings_lock);
    if (is_new) /* after unlocking: it calls the dynamic linker, which has locks of its own */
        offbeat_tracer_python_detect();
}

/* --- call paths --- */

/* Sizes of a thread's caches, powers of two, and the limit of paths in a file. Frames and paths are cached in
 * sets of WAYS entries: with one entry for each hash, two call sites in turn would evict each other, and each
 * call would unwind the stack. */
enum { CACHED_FRAMES = 4096, CACHED_PATHS = 1024, WAYS = 4, CACHED_CALLS = 64, MAX_PATHS = 1 << 18 };

/* A frame that was unwound. `caller` is where its return address is on the stack; NULL: it is the outermost
 * one. */
typedef struct cached_frame {
    uint64_t address, stack; /* address 0: an empty entry */
    const uint64_t *caller;
    uint64_t caller_stack;
} cached_frame;

typedef struct known_path {
    uint64_t hash, id; /* id 0: an empty entry */
} known_path;

/* A recent call: where the return addresses of its callers are, and their values. Each is read only after the
 * ones before it have matched, so that its frame still exists. */
typedef struct cached_call {
    uint64_t address, stack, site;
    int count;
    struct {
        const uint64_t *address;
        uint64_t value;
    } callers[OFFBEAT_TRACER_MAX_DEPTH];
} cached_call;

typedef struct offbeat_tracer_path_cache {
    cached_call calls[CACHED_CALLS];
    cached_frame frames[CACHED_FRAMES / WAYS][WAYS];
    known_path paths[CACHED_PATHS / WAYS][WAYS];
    unsigned evictions; /* counts evictions: the entry of the next one */
} offbeat_tracer_path_cache;

/* The addresses of a path, and the stack pointers there, innermost first. */
typedef struct stack_walk {
    int count, depth;
    uint64_t start; /* the stack pointer of the innermost address */
    uint64_t addresses[OFFBEAT_TRACER_MAX_DEPTH + 1], stacks[OFFBEAT_TRACER_MAX_DEPTH + 1];
} stack_walk;

/* The ids of all paths of the process. */
static pthread_mutex_t paths_lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_tracer_number_table paths;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* --- the thread's caches --- */

/* The entry of a frame; NULL if it is not cached. */
static cached_frame *find_frame(offbeat_tracer_path_cache *cache, uint64_t address, uint64_t stack) {
    cached_frame *set = cache->frames[mix(address, stack) & (CACHED_FRAMES / WAYS - 1)];
    for (int i = 0; i < WAYS; i++)
        if (set[i].address == address && set[i].stack == stack)
            return &set[i];
    return NULL;
}

static void insert_frame(offbeat_tracer_path_cache *cache, cached_frame frame) {
    cached_frame *entry = find_frame(cache, frame.address, frame.stack);
    cached_frame *set = cache->frames[mix(frame.address, frame.stack) & (CACHED_FRAMES / WAYS - 1)];
    for (int i = 0; entry == NULL && i < WAYS; i++)
        if (set[i].address == 0)
            entry = &set[i];
    *(entry != NULL ? entry : &set[cache->evictions++ % WAYS]) = frame;
}

/* The id of a path; 0 if it is not cached. */
static uint64_t find_path(offbeat_tracer_path_cache *cache, uint64_t hash) {
    const known_path *set = cache->paths[hash & (CACHED_PATHS / WAYS - 1)];
    for (int i = 0; i < WAYS; i++)
        if (set[i].hash == hash && set[i].id != 0)
            return set[i].id;
    return 0;
}

/* Caches a path that is not cached. */
static void insert_path(offbeat_tracer_path_cache *cache, uint64_t hash, uint64_t id) {
    known_path *set = cache->paths[hash & (CACHED_PATHS / WAYS - 1)], *entry = NULL;
    for (int i = 0; entry == NULL && i < WAYS; i++)
        if (set[i].id == 0 || set[i].hash == hash)
            entry = &set[i];
    *(entry != NULL ? entry : &set[cache->evictions++ % WAYS]) = (known_path){hash, id};
}

/* The hash of the path, from cached frames; fills in @p call. @return whether all frames are cached */
static int hash_cached(offbeat_tracer_path_cache *cache, offbeat_tracer_caller caller, int depth,
                       cached_call *call, uint64_t *hash) {
    uint64_t address = (uint64_t)(uintptr_t)caller.address;
    uint64_t stack = (uint64_t)(uintptr_t)caller.stack_pointer;
    uint64_t sum = mix(0, address);
    call->site = 0;
    call->address = address;
    call->stack = stack;
    call->count = 0;
    while (call->count < depth - 1) {
        const cached_frame *frame = find_frame(cache, address, stack);
        if (frame == NULL)
            return 0;
        if (frame->caller == NULL)
            break;
        address = *frame->caller;
        stack = frame->caller_stack;
        sum = mix(sum, address);
        call->callers[call->count].address = frame->caller;
        call->callers[call->count++].value = address;
    }
    *hash = sum;
    return 1;
}

static inline cached_call *call_slot(offbeat_tracer_path_cache *cache, offbeat_tracer_caller caller) {
    const uint64_t address = (uint64_t)(uintptr_t)caller.address;
    const uint64_t stack = (uint64_t)(uintptr_t)caller.stack_pointer;
    return &cache->calls[(address ^ address >> 6 ^ stack >> 4) & (CACHED_CALLS - 1)];
}

static inline int is_same_call(const cached_call *call, offbeat_tracer_caller caller) {
    if (call->site == 0 || call->address != (uint64_t)(uintptr_t)caller.address ||
        call->stack != (uint64_t)(uintptr_t)caller.stack_pointer)
        return 0;
    for (int i = 0; i < call->count; i++)
        if (*call->callers[i].address != call->callers[i].value)
            return 0;
    return 1;
}

/* --- unwinding --- */

/* A callback of _Unwind_Backtrace. Frames of the wrapper and of its callees have a lower stack pointer. */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument) {
    stack_walk *walk = argument;
    const uint64_t stack = (uint64_t)_Unwind_GetCFA(context), address = (uint64_t)_Unwind_GetIP(context);
    if (stack < walk->start)
        return _URC_NO_REASON;
    if (address == 0 || walk->count == walk->depth)
        return _URC_END_OF_STACK;
    walk->addresses[walk->count] = address;
    walk->stacks[walk->count++] = stack;
    return _URC_NO_REASON;
}

/* Where the return address of a frame is: at its upper end on x86, elsewhere anywhere in it. */
static const uint64_t *find_return_address(uint64_t start, uint64_t end, uint64_t address) {
    for (uint64_t slot = end - 8; slot >= start && slot < end; slot -= 8)
        if (*(const uint64_t *)(uintptr_t)slot == address)
            return (const uint64_t *)(uintptr_t)slot;
    return NULL;
}

/* Caches the frames of a walk, up to the first one whose return address was not found. */
static void cache_frames(offbeat_tracer_path_cache *cache, const stack_walk *walk) {
    for (int i = 0; i < walk->count && i + 1 < walk->depth; i++) {
        cached_frame frame = {.address = walk->addresses[i], .stack = walk->stacks[i]};
        if (i + 1 < walk->count) {
            frame.caller_stack = walk->stacks[i + 1];
            frame.caller = find_return_address(walk->stacks[i], walk->stacks[i + 1], walk->addresses[i + 1]);
            if (frame.caller == NULL)
                return;
        }
        insert_frame(cache, frame);
    }
}

/* Unwinds the stack; on failure the walk has the return address alone. */
static void unwind(stack_walk *walk, offbeat_tracer_caller caller, int depth) {
    walk->count = 0;
    walk->depth = depth;
    walk->start = (uint64_t)(uintptr_t)caller.stack_pointer;
    if (depth > 1)
        _Unwind_Backtrace(add_frame, walk);
    if (walk->count == 0 || walk->addresses[0] != (uint64_t)(uintptr_t)caller.address) {
        walk->addresses[0] = (uint64_t)(uintptr_t)caller.address;
        walk->stacks[0] = walk->start;
        walk->count = 1;
    }
}

static uint64_t hash_of(const stack_walk *walk) {
    uint64_t hash = 0;
    for (int i = 0; i < walk->count; i++)
        hash = mix(hash, walk->addresses[i]);
    return hash;
}

/* --- the process's paths --- */

/* Writes a path into the file, with the lock held. */
static void define(uint64_t id, const stack_walk *walk, const offbeat_tracer_python_frames *python) {
    static char tail[sizeof walk->addresses + OFFBEAT_TRACER_PYTHON_TEXT_BYTES];
    const size_t address_bytes = sizeof *walk->addresses * (size_t)walk->count;
    const size_t text_bytes = offbeat_tracer_python_format(python, tail + address_bytes);
    offbeat_trace_path path = {.id = (uint32_t)id,
                               .address_count = (uint16_t)walk->count,
                               .python_count = (uint16_t)python->count,
                               .text_bytes = (uint32_t)text_bytes};
    memcpy(tail, walk->addresses, address_bytes);
    offbeat_tracer_define(OFFBEAT_TRACE_PATH, &path, sizeof path, tail, address_bytes + text_bytes);
}

/* The id of a path, which is defined if it is new; 0 if there are too many. */
static uint64_t get_id(offbeat_tracer_thread *thread, uint64_t hash, const stack_walk *walk,
                       const offbeat_tracer_python_frames *python) {
    for (int i = 0; i < walk->count; i++)
        offbeat_tracer_ensure_mapping(thread, walk->addresses[i]);
    pthread_mutex_lock(&paths_lock);
    uint64_t *path_number = paths.count < MAX_PATHS ? offbeat_tracer_number_of(&paths, hash) : NULL;
    if (path_number != NULL && *path_number == 0) {
        *path_number = paths.count;
        define(*path_number, walk, python);
        offbeat_tracer_python_retain(python);
    }
    const uint64_t id = path_number != NULL ? *path_number : 0;
    pthread_mutex_unlock(&paths_lock);
    return id;
}

/* The site of a call whose path is cached; else 0. */
static uint64_t cached_site(offbeat_tracer_path_cache *cache, offbeat_tracer_caller caller, int depth,
                            uint64_t python_hash) {
    uint64_t hash;
    if (cache == NULL)
        return 0;
    cached_call *call = call_slot(cache, caller);
    if (!hash_cached(cache, caller, depth, call, &hash))
        return 0;
    hash = mix(hash, python_hash);
    const uint64_t id = find_path(cache, hash);
    if (id == 0)
        return 0;
    if (python_hash == 0)
        call->site = id | OFFBEAT_TRACE_IS_PATH;
    return id | OFFBEAT_TRACE_IS_PATH;
}

/* The site of a call whose path is not cached; the return address if the path cannot be defined. */
static uint64_t find_site(offbeat_tracer_thread *thread, offbeat_tracer_caller caller, int depth,
                          const offbeat_tracer_python_frames *python) {
    stack_walk walk;
    if (thread->paths == NULL)
        thread->paths = calloc(1, sizeof *thread->paths);
    unwind(&walk, caller, depth);
    const uint64_t hash = mix(hash_of(&walk), python->hash);
    const uint64_t id = get_id(thread, hash, &walk, python);
    if (id == 0)
        return (uint64_t)(uintptr_t)caller.address;
    if (thread->paths != NULL) {
        cache_frames(thread->paths, &walk);
        insert_path(thread->paths, hash, id);
    }
    return id | OFFBEAT_TRACE_IS_PATH;
}

/* Not inlined into the functions that run for every record: the following ones have large stack frames. */
static __attribute__((noinline)) uint64_t find_native_site(offbeat_tracer_thread *thread,
                                                           offbeat_tracer_caller caller, int depth) {
    const offbeat_tracer_python_frames none = {.count = 0};
    return find_site(thread, caller, depth, &none);
}

static __attribute__((noinline)) uint64_t python_site(offbeat_tracer_thread *thread,
                                                      offbeat_tracer_caller caller, int depth) {
    offbeat_tracer_python_frames python;
    offbeat_tracer_python_capture(&python, depth);
    uint64_t site = cached_site(thread->paths, caller, depth, python.hash);
    if (site == 0 && depth < 2 && python.count == 0)
        site = (uint64_t)(uintptr_t)caller.address;
    else if (site == 0)
        site = find_site(thread, caller, depth, &python);
    offbeat_tracer_python_release(&python);
    return site;
}

static __attribute__((noinline)) uint64_t native_site(offbeat_tracer_thread *thread,
                                                      offbeat_tracer_caller caller) {
    const int depth = offbeat_tracer_state.config.depth;
    const uint64_t site = cached_site(thread->paths, caller, depth, 0);
    return site != 0 ? site : find_native_site(thread, caller, depth);
}

uint64_t offbeat_tracer_call_path(offbeat_tracer_thread *thread, offbeat_tracer_caller caller) {
    if (offbeat_tracer_python_is_available())
        return python_site(thread, caller, offbeat_tracer_state.config.depth);
    if (thread->paths != NULL) {
        const cached_call *call = call_slot(thread->paths, caller);
        if (is_same_call(call, caller))
            return call->site;
    }
    return native_site(thread, caller);
}
