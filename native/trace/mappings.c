/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/mappings.h"

#include "trace/define.h"
#include "trace/python_frames.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code that is in the file. What a program unloads stays, and what it loads at the same place later comes
 * after it: readers take the last one. */
typedef struct mapping {
    uint64_t start, end, offset, inode;
} mapping;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mapping *known;
static size_t known_count, room;

static int is_known(const mapping *found) {
    for (size_t i = known_count; i-- > 0;)
        if (found->start < known[i].end && found->end > known[i].start)
            return found->start == known[i].start && found->end == known[i].end &&
                   found->offset == known[i].offset && found->inode == known[i].inode;
    return 0;
}

static void remember(const mapping *found) {
    if (known_count == room) {
        size_t larger = room == 0 ? 64 : 2 * room;
        mapping *moved = realloc(known, larger * sizeof *moved);
        if (moved == NULL)
            return;
        known = moved;
        room = larger;
    }
    known[known_count++] = *found;
}

/* A number at *text, which moves behind it and the one character that follows. */
static uint64_t number_at(char **text, int base) {
    char *end;
    uint64_t number = strtoull(*text, &end, base);
    *text = *end != '\0' ? end + 1 : end;
    return number;
}

/* Moves behind a word and the spaces after it. */
static void skip_word(char **text) {
    *text += strcspn(*text, " ");
    *text += strspn(*text, " ");
}

/* A line of /proc/self/maps: "7f00-7f10 r-xp 00002000 08:01 1234   /usr/lib/libc.so.6". */
static void take_line(char *line) {
    mapping found;
    line[strcspn(line, "\n")] = '\0';
    found.start = number_at(&line, 16);
    found.end = number_at(&line, 16);
    const int is_code = strlen(line) > 4 && line[2] == 'x';
    skip_word(&line);
    found.offset = number_at(&line, 16);
    skip_word(&line);
    found.inode = number_at(&line, 10);
    line += strspn(line, " ");
    if (!is_code || is_known(&found))
        return;
    offbeat_trace_mapping definition = {
        .start = found.start, .end = found.end, .offset = found.offset, .path_bytes = (uint32_t)strlen(line)};
    offbeat_define(OFFBEAT_TRACE_MAPPING, &definition, sizeof definition, line, definition.path_bytes);
    remember(&found);
}

/* With the lock held. */
static void read_all(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t bytes = 0;
    while (maps != NULL && getline(&line, &bytes, maps) > 0)
        take_line(line);
    free(line);
    if (maps != NULL)
        fclose(maps);
}

void offbeat_mappings_write(void) {
    pthread_mutex_lock(&lock);
    read_all();
    pthread_mutex_unlock(&lock);
}

/* With the lock held. The last one counts. */
static const mapping *around(uint64_t address) {
    for (size_t i = known_count; i-- > 0;)
        if (address >= known[i].start && address < known[i].end)
            return &known[i];
    return NULL;
}

void offbeat_mappings_look_up(offbeat_lane *lane, uint64_t address) {
    pthread_mutex_lock(&lock);
    const mapping *found = around(address);
    const int is_new = found == NULL;
    if (is_new) {
        read_all();
        found = around(address);
    }
    if (found != NULL) {
        lane->code_from = found->start;
        lane->code_bytes = found->end - found->start;
    }
    pthread_mutex_unlock(&lock);
    if (is_new) /* without the lock: it asks the dynamic linker, which has locks of its own */
        offbeat_python_find();
}
