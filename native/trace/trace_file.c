/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* madvise */
#include "trace/trace_file.h"

#include "trace/mapping_guard.h"
#include "trace/page_checksum.h"
#include "trace/trace_config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* An extent is mapped at once: 1 MiB, 130,000 records of a loop. */
enum { PAGES_PER_EXTENT = 16, EXTENT_BYTES = PAGES_PER_EXTENT * OFFBEAT_TRACE_PAGE_BYTES };

/* A large file grows by 256 KiB, 32,000 records of a loop. An extent is a multiple of this. */
enum { GROWTH_PAGES = 4 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Programs use numbers from 0 on, and must find the same ones free as without the tracer. */
enum { LOWEST_DESCRIPTOR = 900 };

/* A mapped part of the file, until no thread writes to it any more. */
typedef struct extent {
    offbeat_tracer_guarded guard; /* its start is that of the extent */
    char *start;
    int allocated_count, released_count; /* pages */
    struct extent *next;                 /* in one of the lists below */
} extent;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *location; /* the absolute path of the file */
static dev_t device;
static ino_t inode;
static int descriptor = -1; /* not to be used without is_open_on_file: the program may have closed it */
static offbeat_trace_header *header;
static extent *extents;                      /* pages are allocated from the first one */
static extent *unused_extents;               /* which are not mapped */
static uint64_t allocated_pages, file_pages; /* the file may have a few pages more than were allocated */
static int is_copy_on_write;
static uint64_t max_bytes;
static int is_full;

/* --- the descriptor --- */

/* Whether a descriptor is open on the file, and the file has all its bytes and a name. */
static int is_open_on_file(int number) {
    struct stat status;
    return number >= 0 && fstat(number, &status) == 0 && status.st_dev == device && status.st_ino == inode &&
           status.st_nlink > 0 && status.st_size >= (off_t)(file_pages * OFFBEAT_TRACE_PAGE_BYTES);
}

/* Gives a descriptor a high number. @return the number, which is the old one if there is no other */
static int move_descriptor(int number) {
    const int new_number = fcntl(number, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    if (new_number < 0)
        return number;
    close(number);
    return new_number;
}

/* Makes sure that the descriptor can be written to: opens the file again if the program closed the
 * descriptor, or uses its number for a file of its own, which is left alone. @return 0, ESTALE if the file
 * was truncated, moved or deleted, or another errno value */
static int ensure_descriptor(void) {
    if (is_open_on_file(descriptor))
        return 0;
    const int number = open(location, O_RDWR | O_CLOEXEC);
    if (number < 0)
        return errno == ENOENT ? ESTALE : errno;
    if (!is_open_on_file(number)) {
        close(number);
        return ESTALE;
    }
    descriptor = move_descriptor(number);
    return 0;
}

/* --- space --- */

/* Writing beyond the process's limit would raise SIGXFSZ. */
static int is_within_rlimit(uint64_t file_bytes) {
    struct rlimit file_limit;
    return getrlimit(RLIMIT_FSIZE, &file_limit) != 0 || file_limit.rlim_cur == RLIM_INFINITY ||
           file_bytes <= file_limit.rlim_cur;
}

/* Whether the file system allocates new space when a page is overwritten: then zeros written now reserve
 * nothing. */
static int detect_copy_on_write(void) {
    struct statfs system;
    if (fstatfs(descriptor, &system) != 0)
        return 0;
    return system.f_type == 0x9123683e /* btrfs */ || system.f_type == 0xca451a4e /* bcachefs */;
}

/* A third of the cost of posix_fallocate and its page faults. @return 0, or an errno value */
static int write_zeros(off_t position, size_t bytes) {
    static const char zeros[GROWTH_PAGES * OFFBEAT_TRACE_PAGE_BYTES];
    for (size_t written_bytes = 0; written_bytes < bytes;) {
        ssize_t count = pwrite(descriptor, zeros, bytes - written_bytes, position + (off_t)written_bytes);
        if (count > 0)
            written_bytes += (size_t)count;
        else if (errno != EINTR)
            return count == 0 ? EIO : errno;
    }
    return 0;
}

/* Allocates file space for the next pages of the newest extent. @return 0, or an errno value */
static int reserve_space(uint64_t count) {
    const size_t bytes = count * OFFBEAT_TRACE_PAGE_BYTES;
    const off_t position = (off_t)(file_pages * OFFBEAT_TRACE_PAGE_BYTES);
    if (!is_within_rlimit((file_pages + count) * OFFBEAT_TRACE_PAGE_BYTES))
        return EFBIG;
    int error =
        is_copy_on_write ? posix_fallocate(descriptor, position, (off_t)bytes) : write_zeros(position, bytes);
    if (error != 0)
        return error;
    /* Take all page faults now, outside of traced calls; Linux before 5.14 takes them one by one at first
     * writes. */
    madvise(extents->start + (size_t)extents->allocated_count * OFFBEAT_TRACE_PAGE_BYTES, bytes,
            MADV_POPULATE_WRITE);
    file_pages += count;
    return 0;
}

/* Makes sure that the next page has space. A small file grows page by page; a larger one by GROWTH_PAGES if
 * the limit allows it. @return 0, or an errno value */
static int ensure_space(void) {
    const int is_large = file_pages >= GROWTH_PAGES && file_pages % GROWTH_PAGES == 0;
    const int is_within =
        max_bytes == 0 || (file_pages + GROWTH_PAGES) * OFFBEAT_TRACE_PAGE_BYTES <= max_bytes;
    if (allocated_pages < file_pages || (is_large && is_within && reserve_space(GROWTH_PAGES) == 0))
        return 0;
    return reserve_space(1);
}

/* --- extents: their memory is used again, not freed (mapping_guard.h) --- */

static void move_extent(extent *entry, extent **list) {
    entry->next = *list;
    *list = entry;
}

static void unmap_extent(extent *new_extent) {
    atomic_store(&new_extent->guard.start, NULL);
    munmap(new_extent->start, EXTENT_BYTES);
    move_extent(new_extent, &unused_extents);
}

/* Maps the next extent, which may lie beyond the present end of the file. @return 0, or an errno value */
static int map_extent(void) {
    extent *new_extent = unused_extents != NULL ? unused_extents : calloc(1, sizeof *new_extent);
    if (new_extent == NULL)
        return ENOMEM;
    if (new_extent == unused_extents)
        unused_extents = new_extent->next;
    off_t position = (off_t)(allocated_pages * OFFBEAT_TRACE_PAGE_BYTES);
    new_extent->start = mmap(NULL, EXTENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, position);
    if (new_extent->start == MAP_FAILED) {
        const int error = errno;
        move_extent(new_extent, &unused_extents);
        return error;
    }
    new_extent->allocated_count = new_extent->released_count = 0;
    new_extent->guard.bytes = EXTENT_BYTES;
    atomic_store(&new_extent->guard.start, new_extent->start);
    offbeat_tracer_guard_add(&new_extent->guard);
    move_extent(new_extent, &extents);
    return 0;
}

/* Makes sure that the next page is mapped and has space. @return 0, or an errno value */
static int ensure_page(void) {
    const int is_mapped = extents != NULL && extents->allocated_count < PAGES_PER_EXTENT;
    if (is_mapped && allocated_pages < file_pages)
        return 0;
    int error = ensure_descriptor();
    if (error == 0 && !is_mapped)
        error = map_extent();
    return error != 0 ? error : ensure_space();
}

/* Appends a zero-filled page. @return 0, or an errno value */
static int append_page(char **page) {
    const int error = offbeat_tracer_guard_has_replaced() ? ESTALE : ensure_page();
    if (error != 0)
        return error;
    *page = extents->start + (size_t)OFFBEAT_TRACE_PAGE_BYTES * (size_t)extents->allocated_count++;
    allocated_pages++;
    return 0;
}

/* Remembers which file is open, independent of the working directory. @return 0, or an errno value */
static int identify_file(const char *path) {
    struct stat status;
    location = realpath(path, NULL);
    if (location == NULL || fstat(descriptor, &status) != 0)
        return errno;
    device = status.st_dev;
    inode = status.st_ino;
    return 0;
}

int offbeat_tracer_file_create(const char *path, uint64_t max_file_bytes) {
    const int number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number < 0)
        return errno;
    descriptor = move_descriptor(number);
    is_copy_on_write = detect_copy_on_write();
    offbeat_tracer_guard_begin();
    char *first;
    int error = identify_file(path);
    if (error == 0)
        error = append_page(&first);
    if (error != 0) {
        offbeat_tracer_guard_end();
        close(descriptor);
        unlink(path);
        descriptor = -1;
        return error;
    }
    max_bytes = max_file_bytes;
    header = (offbeat_trace_header *)first; /* never released: it is updated until the end */
    header->pages = 1;
    return 0;
}

offbeat_trace_header *offbeat_tracer_file_header(void) {
    return header;
}

/* After each change of the members of the header that change. */
static void update_state_checksum(void) {
    header->state_checksum = offbeat_trace_state_checksum(header);
}

void offbeat_tracer_file_begin(void) {
    pthread_mutex_lock(&lock);
    update_state_checksum();
    /* The magic is written last: a file that has it has a complete header. */
    offbeat_trace_header complete = *header;
    memcpy(complete.magic, OFFBEAT_TRACE_MAGIC, sizeof complete.magic);
    header->checksum = offbeat_trace_header_checksum(&complete);
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, OFFBEAT_TRACE_MAGIC, sizeof header->magic);
    pthread_mutex_unlock(&lock);
}

uint32_t offbeat_tracer_file_add_lane(void) {
    pthread_mutex_lock(&lock);
    const uint32_t lane = header != NULL ? header->lanes++ : 0;
    if (header != NULL)
        update_state_checksum();
    pthread_mutex_unlock(&lock);
    return lane;
}

void offbeat_tracer_file_raise_stamp_error(int64_t observed_ns) {
    pthread_mutex_lock(&lock);
    if (header != NULL && header->stamps_wrong_ns < observed_ns) {
        header->stamps_wrong_ns = observed_ns;
        update_state_checksum();
    }
    pthread_mutex_unlock(&lock);
}

void offbeat_tracer_file_end(uint32_t state, int64_t ended_ns) {
    /* A signal handler may end the process while this thread holds the lock. */
    const int is_locked = pthread_mutex_trylock(&lock) == 0;
    if (header != NULL) {
        header->ended_ns = ended_ns;
        header->state = state;
        update_state_checksum();
    }
    if (is_locked)
        pthread_mutex_unlock(&lock);
}

/* Stops records; the header holds the first reason. */
static void stop_records(int reason) {
    if (!is_full)
        header->lost_because = reason;
    is_full = 1;
    update_state_checksum();
}

static offbeat_trace_page *allocate(uint32_t kind) {
    if (header == NULL)
        return NULL;
    const int is_limited = kind != OFFBEAT_TRACE_DEFINITIONS;
    if (is_limited && max_bytes != 0 && (header->pages + 1) * OFFBEAT_TRACE_PAGE_BYTES > max_bytes)
        stop_records(-1);
    if (is_limited && is_full)
        return NULL;
    char *page;
    int error = append_page(&page);
    if (error != 0) {
        stop_records(error);
        return NULL;
    }
    header->pages++;
    update_state_checksum();
    return (offbeat_trace_page *)page;
}

offbeat_trace_page *offbeat_tracer_page_allocate(uint32_t kind, uint32_t lane, int64_t origin_ns,
                                                 uint64_t *sum) {
    pthread_mutex_lock(&lock);
    offbeat_trace_page *page = allocate(kind);
    if (page != NULL)
        *sum = offbeat_trace_empty_sum(header, allocated_pages - 1, kind, lane, origin_ns);
    pthread_mutex_unlock(&lock);
    if (page == NULL)
        return NULL;
    page->lane = lane;
    page->origin_ns = origin_ns;
    page->published_words = offbeat_trace_published(*sum, 0, 0);
    atomic_thread_fence(memory_order_release);
    page->kind = kind;
    return page;
}

void offbeat_tracer_page_release(offbeat_trace_page *page) {
    pthread_mutex_lock(&lock);
    extent **link = &extents;
    const char *position = (const char *)page;
    while (*link != NULL && (position < (*link)->start || position >= (*link)->start + EXTENT_BYTES))
        link = &(*link)->next;
    extent *owner = *link;
    if (owner != NULL && ++owner->released_count == PAGES_PER_EXTENT && owner != extents) {
        *link = owner->next;
        unmap_extent(owner);
    }
    pthread_mutex_unlock(&lock);
}

void offbeat_tracer_count_lost_record(void) {
    pthread_mutex_lock(&lock);
    if (header != NULL) {
        header->lost_count++;
        update_state_checksum();
    }
    pthread_mutex_unlock(&lock);
}

int offbeat_tracer_file_is_whole(void) {
    pthread_mutex_lock(&lock);
    const int is_whole = header != NULL && !offbeat_tracer_guard_has_replaced() &&
                         header->lost_because != ESTALE && ensure_descriptor() == 0;
    pthread_mutex_unlock(&lock);
    return is_whole;
}

/* On failure zeros remain after the last page, which readers accept. */
static void cut_unused_pages(void) {
    int error = ftruncate(descriptor, (off_t)(allocated_pages * OFFBEAT_TRACE_PAGE_BYTES));
    (void)error;
}

void offbeat_tracer_file_close(void) {
    pthread_mutex_lock(&lock);
    if (header != NULL) {
        header = NULL;
        for (extent *next; extents != NULL; extents = next) {
            next = extents->next;
            unmap_extent(extents);
        }
        offbeat_tracer_guard_end();
        if (ensure_descriptor() == 0) {
            cut_unused_pages();
            close(descriptor);
        }
        descriptor = -1;
    }
    pthread_mutex_unlock(&lock);
}

/* --- definitions --- */

static pthread_mutex_t definitions_lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_trace_page *definitions; /* the page that is being filled */
static size_t definitions_bytes;        /* used in that page */
static uint64_t definitions_sum;        /* its checksum */

/* Space in the page, or NULL. */
static char *reserve(size_t bytes) {
    if (definitions != NULL && definitions_bytes + bytes > OFFBEAT_TRACE_PAGE_BYTES) {
        offbeat_tracer_page_release(definitions);
        definitions = NULL;
    }
    if (definitions == NULL) {
        definitions = offbeat_tracer_page_allocate(OFFBEAT_TRACE_DEFINITIONS, 0, 0, &definitions_sum);
        definitions_bytes = sizeof *definitions;
    }
    if (definitions == NULL)
        return NULL;
    char *position = (char *)definitions + definitions_bytes;
    definitions_bytes += bytes;
    return position;
}

void offbeat_tracer_define(uint16_t kind, void *head, size_t head_bytes, const void *tail,
                           size_t tail_bytes) {
    if (offbeat_tracer_file_header() == NULL)
        return;
    if (tail_bytes > OFFBEAT_TRACER_MAX_TAIL_BYTES)
        tail_bytes = OFFBEAT_TRACER_MAX_TAIL_BYTES;
    size_t bytes = (head_bytes + tail_bytes + 7) / 8 * 8;
    offbeat_trace_definition start = {.bytes = (uint32_t)bytes, .kind = 0};
    memcpy(head, &start, sizeof start);
    pthread_mutex_lock(&definitions_lock);
    char *position = reserve(bytes);
    if (position != NULL) {
        memcpy(position, head, head_bytes);
        if (tail_bytes > 0)
            memcpy(position + head_bytes, tail, tail_bytes);
        ((offbeat_trace_definition *)position)->kind = kind;
        const size_t end = definitions_bytes / 8 - sizeof *definitions / 8;
        definitions_sum += offbeat_trace_mix_bytes(position, bytes, end - bytes / 8);
        atomic_thread_fence(memory_order_release);
        *(volatile uint64_t *)&definitions->published_words =
            offbeat_trace_published(definitions_sum, end, 0);
    }
    pthread_mutex_unlock(&definitions_lock);
}

void offbeat_tracer_define_note(int64_t at_ns, const char *message) {
    offbeat_trace_note note = {.at_ns = at_ns, .text_bytes = (uint32_t)strlen(message)};
    offbeat_tracer_define(OFFBEAT_TRACE_NOTE, &note, sizeof note, message, note.text_bytes);
}

void offbeat_tracer_define_functions(void) {
    for (int id = 1; id < OFFBEAT_TRACER_FUNCTION_COUNT; id++) {
        const offbeat_tracer_function *traced_function = &offbeat_tracer_functions[id];
        offbeat_trace_function function = {.id = (uint16_t)id,
                                           .mode = traced_function->mode,
                                           .collective = traced_function->collective,
                                           .name_bytes = (uint16_t)strlen(traced_function->name)};
        offbeat_tracer_define(OFFBEAT_TRACE_FUNCTION, &function, sizeof function, traced_function->name,
                              function.name_bytes);
    }
}

/* --- numbers of definitions --- */

static struct offbeat_tracer_number *entry_of(struct offbeat_tracer_number *entries, size_t size,
                                              uint64_t hash) {
    size_t i = hash & (size - 1); /* the size is a power of two */
    while (entries[i].number != 0 && entries[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &entries[i];
}

uint64_t *offbeat_tracer_number_of(offbeat_tracer_number_table *table, uint64_t hash) {
    if (2 * (table->count + 1) > table->size) {
        const size_t size = table->size == 0 ? 256 : 2 * table->size;
        struct offbeat_tracer_number *larger = calloc(size, sizeof *larger);
        if (larger == NULL)
            return NULL;
        for (size_t i = 0; i < table->size; i++)
            if (table->entries[i].number != 0)
                *entry_of(larger, size, table->entries[i].hash) = table->entries[i];
        free(table->entries);
        table->entries = larger;
        table->size = size;
    }
    struct offbeat_tracer_number *entry = entry_of(table->entries, table->size, hash);
    table->count += entry->number == 0;
    entry->hash = hash;
    return &entry->number;
}
