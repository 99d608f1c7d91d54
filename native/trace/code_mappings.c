/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/code_mappings.h"

#include "trace/python_frames.h"
#include "trace/trace_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mapping that is in the file. Mappings are never removed; where a later one overlaps an earlier one, the
 * later one is valid. */
typedef struct mapping {
    uint64_t start, end, offset, inode;
} mapping;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mapping *mappings;
static size_t count, capacity;

static int is_defined(const mapping *one) {
    for (size_t i = count; i-- > 0;)
        if (one->start < mappings[i].end && one->end > mappings[i].start)
            return one->start == mappings[i].start && one->end == mappings[i].end &&
                   one->offset == mappings[i].offset && one->inode == mappings[i].inode;
    return 0;
}

static void add(const mapping *one) {
    if (count == capacity) {
        size_t larger = capacity == 0 ? 64 : 2 * capacity;
        mapping *moved = realloc(mappings, larger * sizeof *moved);
        if (moved == NULL)
            return;
        mappings = moved;
        capacity = larger;
    }
    mappings[count++] = *one;
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
    mapping one;
    line[strcspn(line, "\n")] = '\0';
    one.start = parse_number(&line, 16);
    one.end = parse_number(&line, 16);
    const int is_code = strlen(line) > 4 && line[2] == 'x';
    skip_field(&line);
    one.offset = parse_number(&line, 16);
    skip_field(&line);
    one.inode = parse_number(&line, 10);
    line += strspn(line, " ");
    if (!is_code || is_defined(&one))
        return;
    offbeat_trace_mapping definition = {
        .start = one.start, .end = one.end, .offset = one.offset, .path_bytes = (uint32_t)strlen(line)};
    offbeat_tracer_define(OFFBEAT_TRACE_MAPPING, &definition, sizeof definition, line, definition.path_bytes);
    add(&one);
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
    pthread_mutex_lock(&lock);
    read_mappings();
    pthread_mutex_unlock(&lock);
}

/* The latest mapping of an address. With the lock held. */
static const mapping *mapping_of(uint64_t address) {
    for (size_t i = count; i-- > 0;)
        if (address >= mappings[i].start && address < mappings[i].end)
            return &mappings[i];
    return NULL;
}

void offbeat_tracer_find_mapping(offbeat_tracer_thread *thread, uint64_t address) {
    pthread_mutex_lock(&lock);
    const mapping *one = mapping_of(address);
    const int is_new = one == NULL;
    if (is_new) {
        read_mappings();
        one = mapping_of(address);
    }
    if (one != NULL) {
        thread->code_start = one->start;
        thread->code_bytes = one->end - one->start;
    }
    pthread_mutex_unlock(&lock);
    if (is_new) /* after unlocking: it calls the dynamic linker, which has locks of its own */
        offbeat_tracer_python_detect();
}
