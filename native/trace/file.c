/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* madvise */
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Pages that are mapped at once: 1 MiB, some 19,000 records. */
enum { PAGES_OF_AN_EXTENT = 16, EXTENT_BYTES = PAGES_OF_AN_EXTENT * OFFBEAT_TRACE_PAGE_BYTES };

/* Pages that a large file grows by: 256 KiB, some 4,700 records. An extent is a multiple of them. */
enum { FEW_PAGES = 4 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Extents that somebody may still write to. */
typedef struct extent {
    char *start;
    int used, left; /* pages that were taken, and those of them that nobody writes to any more */
    struct extent *next;
} extent;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int descriptor = -1;
static offbeat_trace_header *header;
static extent *extents;        /* the one that pages are taken from is the first */
static uint64_t pages, filled; /* that were taken, and that the file has: the latter a few more at times */
static int takes_space_anew;   /* see copies_on_write */
static uint64_t limit;
static int is_full;

/* A file beyond the process's limit would end it by a signal. */
static int is_allowed(uint64_t file_bytes) {
    struct rlimit allowed;
    return getrlimit(RLIMIT_FSIZE, &allowed) != 0 || allowed.rlim_cur == RLIM_INFINITY ||
           file_bytes <= allowed.rlim_cur;
}

/* File systems that take new space when a page is written again, where zeros written now promise nothing. */
static int copies_on_write(void) {
    struct statfs system;
    if (fstatfs(descriptor, &system) != 0)
        return 0;
    return system.f_type == 0x9123683e /* btrfs */ || system.f_type == 0xca451a4e /* bcachefs */;
}

/* Writes zeros: a third of what posix_fallocate and the faults after it cost. @return 0, or an errno value */
static int write_zeros(off_t at, size_t bytes) {
    static const char zeros[FEW_PAGES * OFFBEAT_TRACE_PAGE_BYTES];
    for (size_t done = 0; done < bytes;) {
        ssize_t more = pwrite(descriptor, zeros, bytes - done, at + (off_t)done);
        if (more > 0)
            done += (size_t)more;
        else if (errno != EINTR)
            return more == 0 ? EIO : errno;
    }
    return 0;
}

/* Takes the space of the next pages, which are in the last extent. @return 0, or an errno value */
static int fill(uint64_t count) {
    const size_t bytes = count * OFFBEAT_TRACE_PAGE_BYTES;
    const off_t at = (off_t)(filled * OFFBEAT_TRACE_PAGE_BYTES);
    if (!is_allowed((filled + count) * OFFBEAT_TRACE_PAGE_BYTES))
        return EFBIG;
    int error = takes_space_anew ? posix_fallocate(descriptor, at, (off_t)bytes) : write_zeros(at, bytes);
    if (error != 0)
        return error;
    /* All faults of first writes at once, out of the way of calls; before Linux 5.14 they come one by one. */
    madvise(extents->start + (size_t)extents->used * OFFBEAT_TRACE_PAGE_BYTES, bytes, MADV_POPULATE_WRITE);
    filled += count;
    return 0;
}

/* Sees to it that the next page has space. A file that is small stays so; a larger one grows by a few pages
 * at once, where nothing forbids it. @return 0, or an errno value */
static int extend(void) {
    const int is_large = filled >= FEW_PAGES && filled % FEW_PAGES == 0;
    const int is_within = limit == 0 || (filled + FEW_PAGES) * OFFBEAT_TRACE_PAGE_BYTES <= limit;
    if (pages < filled || (is_large && is_within && fill(FEW_PAGES) == 0))
        return 0;
    return fill(1);
}

/* Maps what comes next, also where the file is still shorter. @return 0, or an errno value */
static int map_extent(void) {
    extent *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ENOMEM;
    off_t at = (off_t)(pages * OFFBEAT_TRACE_PAGE_BYTES);
    made->start = mmap(NULL, EXTENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, at);
    if (made->start == MAP_FAILED) {
        int error = errno;
        free(made);
        return error;
    }
    made->next = extents;
    extents = made;
    return 0;
}

/* A new page at the end of the file, zeros. @return 0, or an errno value */
static int append(char **page) {
    int error = extents == NULL || extents->used == PAGES_OF_AN_EXTENT ? map_extent() : 0;
    if (error == 0)
        error = extend();
    if (error != 0)
        return error;
    *page = extents->start + (size_t)OFFBEAT_TRACE_PAGE_BYTES * (size_t)extents->used++;
    pages++;
    return 0;
}

int offbeat_file_create(const char *path, uint64_t limit_bytes) {
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return errno;
    char *first;
    takes_space_anew = copies_on_write();
    int error = append(&first);
    if (error != 0) {
        close(descriptor);
        unlink(path);
        descriptor = -1;
        return error;
    }
    limit = limit_bytes;
    header = (offbeat_trace_header *)first; /* never left: it is written until the end */
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
    char *page;
    int error = append(&page);
    if (error != 0) {
        fill_up(error);
        return NULL;
    }
    header->pages++;
    return (offbeat_trace_page *)page;
}

offbeat_trace_page *offbeat_file_take(uint32_t kind, uint32_t lane) {
    pthread_mutex_lock(&lock);
    offbeat_trace_page *page = next_page(kind);
    pthread_mutex_unlock(&lock);
    if (page == NULL)
        return NULL;
    page->lane = lane;
    atomic_thread_fence(memory_order_release);
    page->kind = kind;
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
        header = NULL;
        for (extent *next; extents != NULL; extents = next) {
            next = extents->next;
            munmap(extents->start, EXTENT_BYTES);
            free(extents);
        }
        /* Where it fails, zeros stay behind the last page, which readers know. */
        int ignored = ftruncate(descriptor, (off_t)(pages * OFFBEAT_TRACE_PAGE_BYTES));
        (void)ignored;
        close(descriptor);
        descriptor = -1;
    }
    pthread_mutex_unlock(&lock);
}
