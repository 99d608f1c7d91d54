/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of the file after a regular end, after SIGKILL, and when its size is limited. */
#define _POSIX_C_SOURCE 200809L
#include "testing/assert.h"
#include "trace/thread_state.h"
#include "trace/trace_config.h"
#include "trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 3,
    /* Of two words each, as sizes differ; the first one has a template. Behind them is no room for another
     * template. */
    RECORDS_A_PAGE = (OFFBEAT_TRACE_PAGE_WORDS - 2 * OFFBEAT_TRACE_TEMPLATE_WORDS - 8) / 2 + 2,
    RECORDS = 3 * RECORDS_A_PAGE + 7,
    MESSAGES = 2 * OFFBEAT_TRACE_MESSAGES_A_PAGE + 5
};

_Thread_local offbeat_tracer_thread offbeat_tracer_this_thread; /* the preload library defines it elsewhere */

static char path[] = "/tmp/offbeat-trace-file-XXXXXX";

/* A trace file, mapped for reading. */
typedef struct mapped_file {
    const char *bytes;
    size_t pages;
} mapped_file;

static mapped_file map_file(void) {
    struct stat status = {0};
    int descriptor = open(path, O_RDONLY);
    test_assert(descriptor >= 0 && fstat(descriptor, &status) == 0, "the file cannot be opened");
    test_assert(status.st_size % OFFBEAT_TRACE_PAGE_BYTES == 0, "the file has %lld bytes",
                (long long)status.st_size);
    mapped_file file = {mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0),
                        (size_t)status.st_size / OFFBEAT_TRACE_PAGE_BYTES};
    test_assert(file.bytes != MAP_FAILED, "the file cannot be mapped");
    close(descriptor);
    return file;
}

static const offbeat_trace_page *page_of(const mapped_file *file, size_t i) {
    return (const offbeat_trace_page *)(file->bytes + i * OFFBEAT_TRACE_PAGE_BYTES);
}

/* The checksum of what was written of a page. */
static uint64_t sum_of(const mapped_file *file, size_t i) {
    const offbeat_trace_page *page = page_of(file, i);
    const uint64_t *words = (const uint64_t *)(page + 1);
    const uint64_t written_words = page->published_words & 0x1FFF,
                   templates = page->published_words >> 13 & 0x7FF;
    const uint64_t last = OFFBEAT_TRACE_PAGE_WORDS - templates * OFFBEAT_TRACE_TEMPLATE_WORDS;
    return offbeat_trace_empty_sum((const offbeat_trace_header *)file->bytes, i, page->kind, page->lane,
                                   page->origin_ns) +
           offbeat_trace_mix_bytes(words, 8 * written_words, 0) +
           offbeat_trace_mix_bytes(words + last, 8 * (OFFBEAT_TRACE_PAGE_WORDS - last), last);
}

static void check_checksums(const mapped_file *file) {
    for (size_t i = 1; i < file->pages; i++)
        test_assert(page_of(file, i)->kind == OFFBEAT_TRACE_NOTHING ||
                        sum_of(file, i) >> 24 == page_of(file, i)->published_words >> 24,
                    "the checksum of page %zu is wrong", i);
}

/* Counts the records of a page; they must be numbered from `next` on by their size. */
static uint64_t count_in_page(const offbeat_trace_page *page, uint64_t next) {
    const uint64_t *words = (const uint64_t *)(page + 1), written_words = page->published_words & 0x1FFF;
    uint64_t count = 0, size = 0;
    int has_size = 0;
    for (uint64_t i = 0; i < written_words; i++) {
        const uint64_t number = words[i] & 0x3FF;
        if (number == OFFBEAT_TRACE_SIZE) {
            size = words[i] >> 10;
            has_size = 1;
        } else if (number < OFFBEAT_TRACE_MOST_TEMPLATES) {
            const offbeat_trace_template *template_entry =
                (const offbeat_trace_template *)(words + OFFBEAT_TRACE_PAGE_WORDS) - 1 - number;
            test_assert((has_size ? size : template_entry->bytes) == next && template_entry->function == 5 &&
                            template_entry->flags == 3,
                        "record %llu of lane %u is wrong", (unsigned long long)next, page->lane);
            has_size = 0;
            next++;
            count++;
        }
    }
    return count;
}

/* Counts the records of a lane; they must be numbered 0, 1, 2, ... */
static uint64_t count_records(const mapped_file *file, uint32_t lane) {
    uint64_t next = 0;
    check_checksums(file);
    for (size_t i = 1; i < file->pages; i++)
        if (page_of(file, i)->kind == OFFBEAT_TRACE_ENCODED && page_of(file, i)->lane == lane)
            next += count_in_page(page_of(file, i), next);
    return next;
}

/* Counts the messages of a lane; they must be numbered 0, 1, 2, ... */
static uint64_t count_messages(const mapped_file *file, uint32_t lane) {
    uint64_t next = 0;
    for (size_t i = 1; i < file->pages; i++) {
        const offbeat_trace_page *page = page_of(file, i);
        const offbeat_trace_message *messages = (const offbeat_trace_message *)(page + 1);
        if (page->kind != OFFBEAT_TRACE_MESSAGES || page->lane != lane)
            continue;
        for (int k = 0; k < OFFBEAT_TRACE_MESSAGES_A_PAGE && messages[k].function != 0; k++, next++)
            test_assert(messages[k].tag == (int32_t)next && messages[k].peer == 3 &&
                            messages[k].kind == OFFBEAT_TRACE_SEND && messages[k].function == 6,
                        "message %llu of lane %u is wrong", (unsigned long long)next, lane);
    }
    return next;
}

static int count_definitions(const mapped_file *file, uint16_t kind) {
    int count = 0;
    for (size_t i = 1; i < file->pages; i++) {
        const char *page = (const char *)page_of(file, i);
        if (page_of(file, i)->kind != OFFBEAT_TRACE_DEFINITIONS)
            continue;
        for (size_t offset = sizeof(offbeat_trace_page); offset + 8 <= OFFBEAT_TRACE_PAGE_BYTES;) {
            const offbeat_trace_definition *definition = (const offbeat_trace_definition *)(page + offset);
            if (definition->kind == 0)
                break;
            test_assert(definition->bytes >= 8 && definition->bytes % 8 == 0, "a definition of %u bytes",
                        definition->bytes);
            count += definition->kind == kind;
            offset += definition->bytes;
        }
    }
    return count;
}

static void write_records(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const offbeat_trace_record record = {.bytes = i, .function = 5, .flags = 3};
        offbeat_tracer_write_record(&offbeat_tracer_this_thread, &record);
    }
}

static void *write_in_thread(void *argument) {
    write_records(RECORDS);
    return argument;
}

static void write_all(void) {
    pthread_t threads[THREADS];
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    offbeat_tracer_define_functions();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_in_thread, NULL);
    offbeat_tracer_define_note(12, "a message");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A process has one file, so that each needs a process of its own. @return its wait status */
static int in_child(void (*write)(void)) {
    unlink(path);
    pid_t child = fork();
    if (child == 0) {
        write();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

static void write_and_close(void) {
    write_all();
    offbeat_tracer_file_close();
}

static void write_and_be_killed(void) {
    write_all();
    kill(getpid(), SIGKILL);
}

/* Checks that the file is complete. Later threads may have reused the lanes of earlier ones. */
static void check_complete(const char *how) {
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    uint64_t records = 0;
    check_checksums(&file);
    for (size_t i = 1; i < file.pages; i++)
        for (uint64_t k = 0, words = page_of(&file, i)->published_words & 0x1FFF; k < words; k++)
            records +=
                page_of(&file, i)->kind == OFFBEAT_TRACE_ENCODED &&
                (((const uint64_t *)(page_of(&file, i) + 1))[k] & 0x3FF) < OFFBEAT_TRACE_MOST_TEMPLATES;
    test_assert(records == (uint64_t)THREADS * RECORDS, "%s: %llu records", how, (unsigned long long)records);
    test_assert(header->lanes >= 1 && header->lanes <= THREADS, "%s: %u lanes", how, header->lanes);
    test_assert(count_definitions(&file, OFFBEAT_TRACE_FUNCTION) == OFFBEAT_TRACER_FUNCTION_COUNT - 1,
                "%s: functions", how);
    test_assert(count_definitions(&file, OFFBEAT_TRACE_NOTE) == 1, "%s: the note", how);
    test_assert(header->lost_count == 0 && header->pages <= file.pages, "%s: %llu pages", how,
                (unsigned long long)header->pages);
}

static void test_a_closed_file_is_complete(void) {
    test_assert(in_child(write_and_close) == 0, "the writer failed");
    check_complete("closed");
    mapped_file file = map_file();
    test_assert(((const offbeat_trace_header *)file.bytes)->pages == file.pages, "there are unused pages");
}

static void test_the_file_of_a_killed_process_is_complete(void) {
    int status = in_child(write_and_be_killed);
    test_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer was not killed");
    check_complete("killed");
}

static void write_to_the_limit(void) {
    test_assert(offbeat_tracer_file_create(path, UINT64_C(5) * OFFBEAT_TRACE_PAGE_BYTES) == 0,
                "the file cannot be created");
    offbeat_tracer_define_functions();
    write_records(RECORDS + 1000);
    offbeat_tracer_define_note(1, "definitions are not limited");
    offbeat_tracer_file_close();
}

static void test_the_limit_stops_records_but_not_definitions(void) {
    test_assert(in_child(write_to_the_limit) == 0, "the writer failed");
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    test_assert(count_records(&file, 0) == 3 * RECORDS_A_PAGE, "%llu records were written",
                (unsigned long long)count_records(&file, 0));
    test_assert(header->lost_count == RECORDS + 1000 - 3 * RECORDS_A_PAGE, "%llu were lost",
                (unsigned long long)header->lost_count);
    test_assert(header->lost_because == -1, "the reason is %d", header->lost_because);
    test_assert(count_definitions(&file, OFFBEAT_TRACE_NOTE) == 1, "the note is lost");
}

static void write_beyond_rlimit(void) {
    const struct rlimit small = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    offbeat_tracer_define_functions();
    write_records(UINT64_C(20) * RECORDS_A_PAGE);
    offbeat_tracer_file_close();
}

static void test_lost_records_are_counted_without_a_signal(void) {
    test_assert(in_child(write_beyond_rlimit) == 0, "the writer was killed");
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    uint64_t written_records = count_records(&file, 0);
    test_assert(written_records == 14 * RECORDS_A_PAGE, "%llu were written",
                (unsigned long long)written_records);
    test_assert(header->lost_count == 6 * RECORDS_A_PAGE && header->lost_because == EFBIG,
                "%llu were lost for the reason %d", (unsigned long long)header->lost_count,
                header->lost_because);
}

/* Messages and records alternate, in each of which a page ends at another time. */
static void *write_both_in_thread(void *argument) {
    for (int i = 0; i < MESSAGES; i++) {
        const offbeat_trace_message message = {.enter_ns = 2 * i,
                                               .exit_ns = 2 * i + 1,
                                               .peer = 3,
                                               .tag = i,
                                               .kind = OFFBEAT_TRACE_SEND,
                                               .function = 6};
        const offbeat_trace_record record = {.bytes = (uint64_t)i, .function = 5, .flags = 3};
        offbeat_tracer_write_message(&offbeat_tracer_this_thread, &message);
        offbeat_tracer_write_record(&offbeat_tracer_this_thread, &record);
    }
    return argument;
}

static void write_both_and_be_killed(void) {
    pthread_t threads[THREADS];
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_both_in_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    kill(getpid(), SIGKILL);
}

static void test_messages_and_records_of_a_lane_are_complete(void) {
    in_child(write_both_and_be_killed);
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    test_assert(header->lanes == THREADS, "%u lanes",
                header->lanes); /* they began at time 0: none is reused */
    for (uint32_t lane = 0; lane < THREADS; lane++) {
        test_assert(count_messages(&file, lane) == MESSAGES, "some messages of lane %u are missing", lane);
        test_assert(count_records(&file, lane) == MESSAGES, "some records of lane %u are missing", lane);
    }
}

/* The lane of a thread that has ended may be reused by a call that begins after its last message. */
static void *write_one_message(void *enter_ns) {
    const int64_t at_ns = *(const int64_t *)enter_ns;
    const offbeat_trace_message message = {
        .enter_ns = at_ns, .exit_ns = at_ns + 10, .peer = 3, .kind = OFFBEAT_TRACE_SEND, .function = 6};
    offbeat_tracer_write_message(&offbeat_tracer_this_thread, &message);
    return NULL;
}

static void write_messages_one_after_another(void) {
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    int64_t begins_ns[] = {100, 105, 110};
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, write_one_message, &begins_ns[i]);
        pthread_join(thread, NULL);
    }
    offbeat_tracer_file_close();
}

static void test_the_messages_of_a_lane_do_not_overlap(void) {
    test_assert(in_child(write_messages_one_after_another) == 0, "the writer failed");
    mapped_file file = map_file();
    test_assert(((const offbeat_trace_header *)file.bytes)->lanes == 2,
                "the third thread reuses the first lane");
}

static void write_messages_to_the_limit(void) {
    test_assert(offbeat_tracer_file_create(path, UINT64_C(3) * OFFBEAT_TRACE_PAGE_BYTES) == 0,
                "the file cannot be created");
    write_both_in_thread(NULL);
    offbeat_tracer_file_close();
}

static void test_the_limit_stops_messages_and_records(void) {
    test_assert(in_child(write_messages_to_the_limit) == 0, "the writer failed");
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    const uint64_t written_records = count_messages(&file, 0) + count_records(&file, 0);
    test_assert(count_messages(&file, 0) == OFFBEAT_TRACE_MESSAGES_A_PAGE, "%llu messages were written",
                (unsigned long long)count_messages(&file, 0));
    test_assert(header->lost_count == 2 * MESSAGES - written_records, "%llu were lost",
                (unsigned long long)header->lost_count);
    test_assert(header->lost_because == -1, "the reason is %d", header->lost_because);
}

static void write_many(void) {
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    write_records(UINT64_C(100) * RECORDS_A_PAGE);
    offbeat_tracer_file_close();
}

static void test_a_record_takes_at_most_24_bytes_of_the_file(void) {
    test_assert(in_child(write_many) == 0, "the writer failed");
    mapped_file file = map_file();
    size_t bytes = file.pages * OFFBEAT_TRACE_PAGE_BYTES;
    test_assert(bytes <= UINT64_C(24) * 100 * RECORDS_A_PAGE, "%zu bytes", bytes);
    test_assert(count_records(&file, 0) == UINT64_C(100) * RECORDS_A_PAGE, "some are missing");
}

/* --- the file and its descriptor in the hands of others --- */

static const char other_path[] = "/tmp/offbeat-trace-file-test-other";
static const char other_text[] = "the program's own data";

/* Closes every descriptor from 3 on, and opens a file until all numbers that were in use are taken. */
static void close_descriptors_and_open_others(void) {
    for (int number = 3; number < 1024; number++)
        if (close(number) == 0) {
            const int other_descriptor = open(other_path, O_RDWR | O_CREAT | O_APPEND, 0666);
            test_assert(dup2(other_descriptor, number) == number, "no descriptor %d", number);
        }
    const int own_descriptor = open(other_path, O_RDWR | O_TRUNC);
    test_assert(write(own_descriptor, other_text, sizeof other_text) == sizeof other_text,
                "the data is not written");
}

static void write_with_closed_descriptors(void) {
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    write_records(RECORDS);
    close_descriptors_and_open_others();
    for (uint64_t i = RECORDS; i < 40 * RECORDS; i++) {
        const offbeat_trace_record record = {.bytes = i, .function = 5, .flags = 3};
        offbeat_tracer_write_record(&offbeat_tracer_this_thread, &record);
    }
    test_assert(offbeat_tracer_file_is_whole(), "the file is whole");
    offbeat_tracer_file_close();
    char content[2 * sizeof other_text];
    const int own_descriptor = open(other_path, O_RDONLY);
    test_assert(read(own_descriptor, content, sizeof content) == sizeof other_text,
                "the program's file has another size");
}

static void test_a_closed_descriptor_neither_loses_records_nor_changes_another_file(void) {
    test_assert(in_child(write_with_closed_descriptors) == 0, "the writer failed");
    mapped_file file = map_file();
    test_assert(count_records(&file, 0) == 40 * RECORDS, "%llu records",
                (unsigned long long)count_records(&file, 0));
    unlink(other_path);
}

static void test_the_program_finds_the_same_descriptors_free(void) {
    const int first_descriptor = open("/dev/null", O_RDONLY);
    close(first_descriptor);
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    const int now = open("/dev/null", O_RDONLY);
    test_assert(now == first_descriptor, "descriptor %d instead of %d", now, first_descriptor);
    close(now);
    offbeat_tracer_file_close();
}

static void write_around_truncation(off_t bytes_left) {
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    write_records(RECORDS);
    test_assert(truncate(path, bytes_left) == 0, "the file cannot be truncated");
    write_records(20 * RECORDS); /* into pages that were mapped, and into new ones */
    test_assert(!offbeat_tracer_file_is_whole(), "the loss is not noticed");
    offbeat_tracer_file_close();
}

static void write_and_truncate_to_nothing(void) {
    write_around_truncation(0);
}

static void write_and_truncate_to_two_pages(void) {
    write_around_truncation(2 * OFFBEAT_TRACE_PAGE_BYTES);
}

static void test_a_truncated_file_is_a_loss_and_not_a_signal(void) {
    test_assert(in_child(write_and_truncate_to_nothing) == 0, "the writer was killed");
    test_assert(in_child(write_and_truncate_to_two_pages) == 0, "the writer was killed");
    mapped_file file = map_file();
    const offbeat_trace_header *header = (const offbeat_trace_header *)file.bytes;
    test_assert(file.pages == 2, "%zu pages", file.pages);
    test_assert(header->lost_count > 0 && header->lost_because == ESTALE, "%llu were lost for the reason %d",
                (unsigned long long)header->lost_count, header->lost_because);
}

static void write_and_delete(void) {
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    unlink(path);
    write_records(20 * RECORDS);
    test_assert(!offbeat_tracer_file_is_whole(), "the loss is not noticed");
    offbeat_tracer_file_close();
    test_assert(access(path, F_OK) != 0, "the file was created again");
}

static void test_a_deleted_file_is_a_loss(void) {
    test_assert(in_child(write_and_delete) == 0, "the writer failed");
}

static volatile sig_atomic_t program_signals;

static void count_signal(int number) {
    program_signals += number == SIGBUS;
}

/* A program's own handler, for a signal that the trace file did not cause. */
static void send_other_signal(void) {
    struct sigaction action = {.sa_handler = count_signal}; /* signal() may install it for one signal only */
    test_assert(sigaction(SIGBUS, &action, NULL) == 0, "the program's handler cannot be set");
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    raise(SIGBUS);
    test_assert(program_signals == 1, "the program's handler was called %d times", (int)program_signals);
    offbeat_tracer_file_close();
    test_assert(sigaction(SIGBUS, NULL, &action) == 0 && action.sa_handler == count_signal,
                "the program's handler is not set any more");
    test_assert(offbeat_tracer_file_create(path, 0) == EEXIST, "an existing file was overwritten");
}

static void fault_in_other_file(void) {
    const int empty = open(other_path, O_RDWR | O_CREAT, 0666);
    char *mapped_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0);
    unlink(other_path);
    test_assert(offbeat_tracer_file_create(path, 0) == 0, "the file cannot be created");
    mapped_page[0] = 1;
}

static void test_other_signals_have_the_effect_that_the_program_set(void) {
    test_assert(in_child(send_other_signal) == 0, "the program's handler is ignored");
    const int status = in_child(fault_in_other_file);
    test_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "the program's fault has no effect");
}

int main(void) {
    int descriptor = mkstemp(path);
    test_assert(descriptor >= 0, "no file can be created in /tmp");
    close(descriptor);
    test_assert(offbeat_tracer_file_create(path, 0) == EEXIST, "an existing file was overwritten");
    test_a_closed_file_is_complete();
    test_the_file_of_a_killed_process_is_complete();
    test_the_limit_stops_records_but_not_definitions();
    test_lost_records_are_counted_without_a_signal();
    test_a_record_takes_at_most_24_bytes_of_the_file();
    test_messages_and_records_of_a_lane_are_complete();
    test_the_messages_of_a_lane_do_not_overlap();
    test_the_limit_stops_messages_and_records();
    test_a_closed_descriptor_neither_loses_records_nor_changes_another_file();
    test_a_truncated_file_is_a_loss_and_not_a_signal();
    test_a_deleted_file_is_a_loss();
    test_other_signals_have_the_effect_that_the_program_set();
    unlink(path);
    test_the_program_finds_the_same_descriptors_free();
    unlink(path);
    return 0;
}
