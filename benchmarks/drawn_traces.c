/*
 * Writes drawn records and messages through the tracer's encoder, without MPI.
 *
 * Usage: drawn_traces TRACE DRAWN BYTES_LIMIT close|kill. DRAWN has for each thread the number of its records
 * and of its messages as two uint64_t, then an offbeat_trace_record each and an offbeat_trace_message each.
 * Threads write at the same time; a message follows each record while there are both.
 */
#define _POSIX_C_SOURCE 200809L
#include "trace/thread_state.h"
#include "trace/trace_config.h"
#include "trace/trace_file.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Thread_local offbeat_tracer_thread offbeat_tracer_this_thread; /* the preload library defines it elsewhere */

enum { MOST_THREADS = 256 };

typedef struct drawn {
    uint64_t counts[2];
    offbeat_trace_record *records;
    offbeat_trace_message *messages;
} drawn;

static pthread_barrier_t all_have_written;

static void *write_drawn(void *of_thread) {
    const drawn *list = of_thread;
    for (uint64_t i = 0; i < list->counts[0] || i < list->counts[1]; i++) {
        if (i < list->counts[0])
            offbeat_tracer_write_record(&offbeat_tracer_this_thread, &list->records[i]);
        if (i < list->counts[1])
            offbeat_tracer_write_message(&offbeat_tracer_this_thread, &list->messages[i]);
    }
    pthread_barrier_wait(&all_have_written); /* a thread that ends would leave its lane to another one */
    return NULL;
}

static int read_list(drawn *list, FILE *from) {
    if (fread(list->counts, sizeof list->counts, 1, from) != 1)
        return 0;
    list->records = calloc(list->counts[0] + 1, sizeof *list->records);
    list->messages = calloc(list->counts[1] + 1, sizeof *list->messages);
    return fread(list->records, sizeof *list->records, list->counts[0], from) == list->counts[0] &&
           fread(list->messages, sizeof *list->messages, list->counts[1], from) == list->counts[1];
}

static void write_header(void) {
    offbeat_trace_header *header = offbeat_tracer_file_header();
    header->version = OFFBEAT_TRACE_VERSION;
    header->page_bytes = OFFBEAT_TRACE_PAGE_BYTES;
    header->page_header_bytes = OFFBEAT_TRACE_PAGE_HEADER_BYTES;
    header->record_bytes = OFFBEAT_TRACE_RECORD_BYTES;
    header->size = 1;
    header->run = 7;
    header->period = 1;
    strcpy(header->host, "node0");
    offbeat_tracer_file_begin();
    offbeat_tracer_define_functions();
}

int main(int argc, char **argv) {
    static drawn lists[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    unsigned count = 0;
    FILE *from = argc == 5 ? fopen(argv[2], "rb") : NULL;
    if (from == NULL || offbeat_tracer_file_create(argv[1], strtoull(argv[3], NULL, 10)) != 0)
        return 1;
    write_header();
    while (count < MOST_THREADS && read_list(&lists[count], from))
        count++;
    pthread_barrier_init(&all_have_written, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, write_drawn, &lists[i]);
    pthread_barrier_wait(&all_have_written);
    if (strcmp(argv[4], "kill") == 0)
        kill(getpid(), SIGKILL);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    offbeat_tracer_file_end(OFFBEAT_TRACE_FINALIZED, INT64_C(1) << 40);
    offbeat_tracer_file_close();
    return 0;
}
