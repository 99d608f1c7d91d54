/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands in the file: after a regular end, after SIGKILL, and when there is no more room. */
#define _POSIX_C_SOURCE 200809L
#include "testing/assert.h"
#include "trace/define.h"
#include "trace/file.h"
#include "trace/functions.h"
#include "trace/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, RECORDS = 3 * OFFBEAT_TRACE_RECORDS_A_PAGE + 7 };

static char path[] = "/tmp/offbeat-trace-file-XXXXXX";

/* A file that was written, as a reader sees it. */
typedef struct seen {
    const char *bytes;
    size_t pages;
} seen;

static seen look(void) {
    struct stat status = {0};
    int descriptor = open(path, O_RDONLY);
    test_assert(descriptor >= 0 && fstat(descriptor, &status) == 0, "the file cannot be opened");
    test_assert(status.st_size % OFFBEAT_TRACE_PAGE_BYTES == 0, "the file has %lld bytes",
                (long long)status.st_size);
    seen file = {mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0),
                 (size_t)status.st_size / OFFBEAT_TRACE_PAGE_BYTES};
    test_assert(file.bytes != MAP_FAILED, "the file cannot be mapped");
    close(descriptor);
    return file;
}

static const offbeat_trace_page *page_of(const seen *file, size_t i) {
    return (const offbeat_trace_page *)(file->bytes + i * OFFBEAT_TRACE_PAGE_BYTES);
}

/* Counts the records of a lane, and promises that they are 0, 1, 2, ... and nothing else. */
static uint64_t records_of_lane(const seen *file, uint32_t lane) {
    uint64_t next = 0;
    for (size_t i = 1; i < file->pages; i++) {
        const offbeat_trace_page *page = page_of(file, i);
        const offbeat_trace_record *records = (const offbeat_trace_record *)(page + 1);
        if (page->kind != OFFBEAT_TRACE_RECORDS || page->lane != lane)
            continue;
        for (int k = 0; k < OFFBEAT_TRACE_RECORDS_A_PAGE && records[k].function != 0; k++, next++)
            test_assert(records[k].bytes == next && records[k].function == 5 && records[k].flags == 3,
                        "record %llu of lane %u is another one", (unsigned long long)next, lane);
    }
    return next;
}

static int definitions(const seen *file, uint16_t kind) {
    int count = 0;
    for (size_t i = 1; i < file->pages; i++) {
        const char *page = (const char *)page_of(file, i);
        if (page_of(file, i)->kind != OFFBEAT_TRACE_DEFINITIONS)
            continue;
        for (size_t at = sizeof(offbeat_trace_page); at + 8 <= OFFBEAT_TRACE_PAGE_BYTES;) {
            const offbeat_trace_definition *definition = (const offbeat_trace_definition *)(page + at);
            if (definition->kind == 0)
                break;
            test_assert(definition->bytes >= 8 && definition->bytes % 8 == 0, "a definition of %u bytes",
                        definition->bytes);
            count += definition->kind == kind;
            at += definition->bytes;
        }
    }
    return count;
}

static void write_records(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const offbeat_trace_record record = {.bytes = i, .function = 5, .flags = 3};
        offbeat_lane_write(&offbeat_own_lane, &record);
    }
}

static void *write_in_thread(void *unused) {
    write_records(RECORDS);
    return unused;
}

static void write_all(void) {
    pthread_t threads[THREADS];
    test_assert(offbeat_file_create(path, 0) == 0, "the file cannot be made");
    offbeat_define_functions();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_in_thread, NULL);
    offbeat_define_note(12, "a sentence");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* In a process of its own: the file is one a process. @return its status */
static int in_child(void (*work)(void)) {
    unlink(path);
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

static void write_and_close(void) {
    write_all();
    offbeat_file_close();
}

static void write_and_die(void) {
    write_all();
    kill(getpid(), SIGKILL);
}

/* All of it is there. Threads that ended may have left their lane to later ones. */
static void check_all(const char *how) {
    seen file = look();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    uint64_t records = 0;
    for (size_t i = 1; i < file.pages; i++)
        if (page_of(&file, i)->kind == OFFBEAT_TRACE_RECORDS) {
            const offbeat_trace_record *first = (const offbeat_trace_record *)(page_of(&file, i) + 1);
            for (int k = 0; k < OFFBEAT_TRACE_RECORDS_A_PAGE; k++)
                records += first[k].function == 5;
        }
    test_assert(records == (uint64_t)THREADS * RECORDS, "%s: %llu records", how, (unsigned long long)records);
    test_assert(header->lanes >= 1 && header->lanes <= THREADS, "%s: %u lanes", how, header->lanes);
    test_assert(definitions(&file, OFFBEAT_TRACE_FUNCTION) == OFFBEAT_FUNCTIONS - 1, "%s: functions", how);
    test_assert(definitions(&file, OFFBEAT_TRACE_NOTE) == 1, "%s: the note", how);
    test_assert(header->lost == 0 && header->pages <= file.pages, "%s: %llu pages", how,
                (unsigned long long)header->pages);
}

static void test_everything_is_there_after_the_end(void) {
    test_assert(in_child(write_and_close) == 0, "the writer failed");
    check_all("closed");
    seen file = look();
    test_assert(((const offbeat_trace_header *)file.bytes)->pages == file.pages, "there are pages too many");
}

static void test_everything_is_there_after_sigkill(void) {
    int status = in_child(write_and_die);
    test_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer was not killed");
    check_all("killed");
}

static void write_to_the_limit(void) {
    test_assert(offbeat_file_create(path, UINT64_C(5) * OFFBEAT_TRACE_PAGE_BYTES) == 0, "it cannot be made");
    offbeat_define_functions();
    write_records(RECORDS + 1000);
    offbeat_define_note(1, "there is room for definitions");
    offbeat_file_close();
}

static void test_the_limit_stops_records_but_not_definitions(void) {
    test_assert(in_child(write_to_the_limit) == 0, "the writer failed");
    seen file = look();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    test_assert(records_of_lane(&file, 0) == 3 * OFFBEAT_TRACE_RECORDS_A_PAGE, "%llu records were kept",
                (unsigned long long)records_of_lane(&file, 0));
    test_assert(header->lost == RECORDS + 1000 - 3 * OFFBEAT_TRACE_RECORDS_A_PAGE, "%llu were lost",
                (unsigned long long)header->lost);
    test_assert(header->lost_because == -1, "because of %d", header->lost_because);
    test_assert(definitions(&file, OFFBEAT_TRACE_NOTE) == 1, "the note is lost");
}

static void write_without_room(void) {
    const struct rlimit small = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    test_assert(offbeat_file_create(path, 0) == 0, "it cannot be made");
    offbeat_define_functions();
    write_records(UINT64_C(20) * OFFBEAT_TRACE_RECORDS_A_PAGE);
    offbeat_file_close();
}

static void test_no_room_is_counted_and_no_signal(void) {
    test_assert(in_child(write_without_room) == 0, "the writer did not survive");
    seen file = look();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    uint64_t kept = records_of_lane(&file, 0);
    test_assert(kept == 14 * OFFBEAT_TRACE_RECORDS_A_PAGE, "%llu were kept", (unsigned long long)kept);
    test_assert(header->lost == 6 * OFFBEAT_TRACE_RECORDS_A_PAGE && header->lost_because == EFBIG,
                "%llu were lost because of %d", (unsigned long long)header->lost, header->lost_because);
}

static void write_many(void) {
    test_assert(offbeat_file_create(path, 0) == 0, "it cannot be made");
    write_records(UINT64_C(100) * OFFBEAT_TRACE_RECORDS_A_PAGE);
    offbeat_file_close();
}

static void test_a_record_takes_at_most_64_bytes_of_the_file(void) {
    test_assert(in_child(write_many) == 0, "the writer failed");
    seen file = look();
    size_t bytes = file.pages * OFFBEAT_TRACE_PAGE_BYTES;
    test_assert(bytes <= UINT64_C(64) * 100 * OFFBEAT_TRACE_RECORDS_A_PAGE, "%zu bytes", bytes);
    test_assert(records_of_lane(&file, 0) == UINT64_C(100) * OFFBEAT_TRACE_RECORDS_A_PAGE,
                "some are missing");
}

int main(void) {
    int descriptor = mkstemp(path);
    test_assert(descriptor >= 0, "no file can be made in /tmp");
    close(descriptor);
    test_assert(offbeat_file_create(path, 0) == EEXIST, "another run's file is not kept");
    test_everything_is_there_after_the_end();
    test_everything_is_there_after_sigkill();
    test_the_limit_stops_records_but_not_definitions();
    test_no_room_is_counted_and_no_signal();
    test_a_record_takes_at_most_64_bytes_of_the_file();
    unlink(path);
    return 0;
}
