/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Pages that are taken from the file system and mapped at once: 1 MiB, some 19,000 records. */
enum { PAGES_OF_AN_EXTENT = 16, EXTENT_BYTES = PAGES_OF_AN_EXTENT * OFFBEAT_TRACE_PAGE_BYTES };

/* Extents that somebody may still write to. */
typedef struct extent {
    char *start;
    int used, left; /* pages that were taken, and those of them that nobody writes to any more */
    struct extent *next;
} extent;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int descriptor = -1;
static offbeat_trace_header *header;
static extent *extents;         /* the one that pages are taken from is the first */
static uint64_t extents_so_far; /* in the file */
static uint64_t limit;
static int is_full;

/* A file beyond the process's limit would end it by a signal. */
static int is_allowed(uint64_t file_bytes) {
    struct rlimit allowed;
    return getrlimit(RLIMIT_FSIZE, &allowed) != 0 || allowed.rlim_cur == RLIM_INFINITY ||
           file_bytes <= allowed.rlim_cur;
}

static int map_extent(void) {
    off_t at = (off_t)(extents_so_far * EXTENT_BYTES);
    if (!is_allowed((extents_so_far + 1) * EXTENT_BYTES))
        return EFBIG;
    extent *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    int error = posix_fallocate(descriptor, at, EXTENT_BYTES);
    if (error == 0) {
        made->start = mmap(NULL, EXTENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, at);
        error = made->start == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        free(made);
        return error;
    }
    made->next = extents;
    extents = made;
    extents_so_far++;
    return 0;
}

int offbeat_file_create(const char *path, uint64_t limit_bytes) {
    if (unlink(path) != 0 && errno != ENOENT)
        return errno;
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return errno;
    int error = map_extent();
    if (error != 0) {
        close(descriptor);
        unlink(path);
        descriptor = -1;
        return error;
    }
    limit = limit_bytes;
    extents->used = 1; /* never left: the header is written until the end */
    header = (offbeat_trace_header *)extents->start;
    header->pages = 1;
    return 0;
}

offbeat_trace_header *offbeat_file_header(void) {
    return header;
}

/* Says once why no more records are kept; the first reason stays. */
static void fill_up(int because) {
    if (!is_full)
        header->lost_because = because;
    is_full = 1;
}

static offbeat_trace_page *next_page(uint32_t kind) {
    if (header == NULL)
        return NULL;
    if (kind == OFFBEAT_TRACE_RECORDS && limit != 0 && (header->pages + 1) * OFFBEAT_TRACE_PAGE_BYTES > limit)
        fill_up(-1);
    if (kind == OFFBEAT_TRACE_RECORDS && is_full)
        return NULL;
    if (extents->used == PAGES_OF_AN_EXTENT) {
        int error = map_extent();
        if (error != 0) {
            fill_up(error);
            return NULL;
        }
    }
    header->pages++;
    return (offbeat_trace_page *)(extents->start +
                                  (size_t)OFFBEAT_TRACE_PAGE_BYTES * (size_t)extents->used++);
}

offbeat_trace_page *offbeat_file_take(uint32_t kind, uint32_t lane) {
    pthread_mutex_lock(&lock);
    offbeat_trace_page *page = next_page(kind);
    if (page != NULL) {
        page->lane = lane;
        atomic_thread_fence(memory_order_release);
        page->kind = kind;
    }
    pthread_mutex_unlock(&lock);
    return page;
}

void offbeat_file_leave(offbeat_trace_page *page) {
    pthread_mutex_lock(&lock);
    extent **link = &extents;
    const char *at = (const char *)page;
    while (*link != NULL && (at < (*link)->start || at >= (*link)->start + EXTENT_BYTES))
        link = &(*link)->next;
    extent *found = *link;
    if (found != NULL && ++found->left == PAGES_OF_AN_EXTENT && found != extents) {
        *link = found->next;
        munmap(found->start, EXTENT_BYTES);
        free(found);
    }
    pthread_mutex_unlock(&lock);
}

void offbeat_file_lose(void) {
    pthread_mutex_lock(&lock);
    if (header != NULL)
        header->lost++;
    pthread_mutex_unlock(&lock);
}

void offbeat_file_close(void) {
    pthread_mutex_lock(&lock);
    if (header != NULL) {
        off_t used_bytes = (off_t)(header->pages * OFFBEAT_TRACE_PAGE_BYTES);
        header = NULL;
        for (extent *next; extents != NULL; extents = next) {
            next = extents->next;
            munmap(extents->start, EXTENT_BYTES);
            free(extents);
        }
        /* Where it fails, zeros stay behind the last page, which readers know. */
        int ignored = ftruncate(descriptor, used_bytes);
        (void)ignored;
        close(descriptor);
        descriptor = -1;
    }
    pthread_mutex_unlock(&lock);
}
