/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a trace. What one process cannot do must not keep others waiting: they agree on whether to
 * trace before the clocks are synchronised. After that each process fails alone.
 */
#define _POSIX_C_SOURCE 200809L
#include "trace/process.h"

#include "clock/limits.h"
#include "trace/communicators.h"
#include "trace/define.h"
#include "trace/file.h"
#include "trace/mappings.h"
#include "trace/python_frames.h"
#include "trace/stamp.h"
#include "trace/times.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

offbeat_traced_process offbeat_process;
_Atomic int offbeat_is_tracing;
_Atomic int offbeat_is_paused;

static char path[4096];
static _Atomic int has_aborted;

/* One sentence on stderr. */
static void say(const char *sentence) {
    fprintf(stderr, "offbeat: %s\n", sentence);
}

/* What all processes of a run have in common; rank 0's. */
typedef struct common {
    uint64_t run;
    int64_t began_ns; /* on the shared clock */
} common;

static uint64_t new_run(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec) *
               UINT64_C(0x9E3779B97F4A7C15) ^
           (uint64_t)getpid();
}

/* Makes a folder, and those that it is in. */
static int make_folders(const char *folder) {
    char part[sizeof path];
    snprintf(part, sizeof part, "%s", folder);
    for (char *at = part + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(part, 0777); /* the last one says whether all went well */
            *at = '/';
        }
    return mkdir(part, 0777) == 0 || errno == EEXIST ? 0 : errno;
}

/* The file's name. Processes that a program spawned are a world of their own, with ranks from 0 on. */
static int name_file(uint64_t run) {
    MPI_Comm parent = MPI_COMM_NULL;
    char spawned[48] = "";
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        snprintf(spawned, sizeof spawned, "spawned-%016llx-", (unsigned long long)run);
    int bytes = snprintf(path, sizeof path, "%s/%srank-%06d.trace", offbeat_process.wishes.folder, spawned,
                         offbeat_process.rank);
    return bytes < (int)sizeof path ? 0 : ENAMETOOLONG;
}

/* Whether another run has left its file where this process would write, and why that is none of ours. */
static int is_taken(char *why, size_t bytes) {
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL || name_file(0) != 0 || access(path, F_OK) != 0)
        return 0;
    snprintf(why, bytes,
             "%.300s is there already, and is kept; OFFBEAT_TRACE_DIR should name a folder of this run's own",
             path);
    return 1;
}

static void name_program(offbeat_trace_header *header) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int bytes = 0;
    gethostname(header->host, sizeof header->host - 1);
    ssize_t length = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    header->program[length > 0 ? length : 0] = '\0';
    PMPI_Get_library_version(version, &bytes);
    version[strcspn(version, "\n")] = '\0';
    snprintf(header->library, sizeof header->library, "%.*s", (int)sizeof header->library - 1, version);
    snprintf(header->source, sizeof header->source, "%s", offbeat_clock_source(offbeat_process.clock));
    offbeat_wishes_say(header->sampling, sizeof header->sampling);
}

/* The magic comes last: a file that has it has a header. */
static void write_header(offbeat_trace_header *header, uint64_t run) {
    struct timespec now;
    header->version = OFFBEAT_TRACE_VERSION;
    header->page_bytes = OFFBEAT_TRACE_PAGE_BYTES;
    header->page_header_bytes = OFFBEAT_TRACE_PAGE_HEADER_BYTES;
    header->record_bytes = OFFBEAT_TRACE_RECORD_BYTES;
    header->rank = offbeat_process.rank;
    header->size = offbeat_process.size;
    header->run = run;
    header->pid = getpid();
    clock_gettime(CLOCK_REALTIME, &now);
    header->began_ns = offbeat_now_ns();
    header->began_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    header->drift_limit = OFFBEAT_DRIFT_LIMIT;
    header->wander = OFFBEAT_WANDER_LIMIT;
    header->every = offbeat_process.wishes.every;
    header->bytes_limit = offbeat_process.wishes.limit_bytes;
    header->stamps_wrong_ns = offbeat_stamps_bound_ns();
    name_program(header);
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, OFFBEAT_TRACE_MAGIC, sizeof header->magic);
}

/* The window on the local clock. */
static void place_window(int64_t shared_ns) {
    const offbeat_wishes *wishes = &offbeat_process.wishes;
    offbeat_process.from_ns = INT64_MIN;
    offbeat_process.to_ns = INT64_MAX;
    if (wishes->window_from_s > 0)
        offbeat_process.from_ns = offbeat_clock_to_local_ns(
            offbeat_process.clock, shared_ns + (int64_t)(wishes->window_from_s * 1e9));
    if (isfinite(wishes->window_to_s))
        offbeat_process.to_ns = offbeat_clock_to_local_ns(offbeat_process.clock,
                                                          shared_ns + (int64_t)(wishes->window_to_s * 1e9));
}

/* Begins to write this process's file. */
static void open_file(const common *run) {
    char sentence[sizeof path + 256];
    int error = make_folders(offbeat_process.wishes.folder);
    if (error == 0)
        error = name_file(run->run);
    if (error == 0)
        error = offbeat_file_create(path, offbeat_process.wishes.limit_bytes);
    if (error != 0) {
        snprintf(sentence, sizeof sentence,
                 "rank %d cannot write its trace into the folder %s (%s) and runs on untraced; "
                 "OFFBEAT_TRACE_DIR should name a folder that can be written to",
                 offbeat_process.rank, offbeat_process.wishes.folder, strerror(error));
        say(sentence);
        return;
    }
    write_header(offbeat_file_header(), run->run);
    offbeat_define_functions();
    offbeat_mappings_write();
    offbeat_python_find();
    offbeat_times_write_now(offbeat_process.clock);
    place_window(run->began_ns);
    if (offbeat_communicators_begin() == 0)
        atomic_store(&offbeat_is_tracing, 1);
    else
        say("MPI has no room for an attribute of communicators; the program runs on untraced");
}

/* Whether all processes can trace; the first one that can't says why. Collective. */
static int agree(void) {
    char why[512], sentence[1024];
    int is_good =
        offbeat_wishes_read(&offbeat_process.wishes, why, sizeof why) == 0 && !is_taken(why, sizeof why);
    int refuses = is_good ? INT_MAX : offbeat_process.rank, first;
    PMPI_Allreduce(&refuses, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == offbeat_process.rank) {
        snprintf(sentence, sizeof sentence, "%s; the program runs on untraced (rank %d)", why, first);
        say(sentence);
    }
    return first == INT_MAX;
}

static int make_clock(void) {
    if (offbeat_clock_create(MPI_COMM_WORLD, &offbeat_process.clock) == MPI_SUCCESS) {
        const char *source = offbeat_clock_source(offbeat_process.clock);
        offbeat_process.is_monotonic = strcmp(source, "CLOCK_MONOTONIC") == 0;
        offbeat_stamps_begin(offbeat_now_ns, offbeat_process.is_monotonic);
        return 0;
    }
    if (offbeat_process.rank == 0) {
        const char *why = offbeat_clock_error();
        char sentence[1024];
        snprintf(sentence, sizeof sentence,
                 "the clocks could not be synchronised (%s); the program runs on untraced",
                 *why != '\0' ? why : "an MPI call failed");
        say(sentence);
    }
    return -1;
}

/* At the end of a process that never came to MPI_Finalize. A forked one has nothing to say. */
static void mark_exit(void) {
    offbeat_trace_header *header = offbeat_file_header();
    if (header == NULL || header->pid != getpid() || header->state != OFFBEAT_TRACE_RUNNING)
        return;
    header->ended_ns = offbeat_now_ns();
    header->state = OFFBEAT_TRACE_EXITED;
}

void offbeat_trace_begin(void) {
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&has_begun))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &offbeat_process.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &offbeat_process.size);
    if (!agree() || make_clock() != 0)
        return;
    common run = {.run = new_run(), .began_ns = offbeat_clock_now(offbeat_process.clock).global_ns};
    PMPI_Bcast(&run, sizeof run, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!offbeat_ranges_have(&offbeat_process.wishes.ranks, offbeat_process.rank))
        return;
    open_file(&run);
    atexit(mark_exit);
}

/* Says that records were lost, once. */
static void say_lost(const offbeat_trace_header *header) {
    char sentence[512], whose[600];
    if (header->lost == 0)
        return;
    snprintf(sentence, sizeof sentence,
             "%llu records found no room in the trace (%s); those before are there",
             (unsigned long long)header->lost,
             header->lost_because > 0 ? strerror(header->lost_because) : "OFFBEAT_TRACE_BYTES was reached");
    offbeat_define_note(offbeat_now_ns(), sentence);
    snprintf(whose, sizeof whose, "rank %d: %s", header->rank, sentence);
    if (header->lost_because > 0)
        say(whose);
}

static void close_file(offbeat_trace_header *header) {
    offbeat_mappings_write();
    offbeat_communicators_end();
    say_lost(header);
    atomic_store(&offbeat_is_tracing, 0);
    header->ended_ns = offbeat_now_ns();
    header->state = OFFBEAT_TRACE_FINALIZED;
    offbeat_file_close();
}

void offbeat_trace_finalize(void) {
    static atomic_flag has_ended = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&has_ended) || offbeat_process.clock == NULL)
        return;
    /* MPI_Abort may return while the launcher is on its way: others are gone, and the run stays an aborted
     * one. */
    if (has_aborted)
        return;
    offbeat_trace_header *header = offbeat_file_header();
    offbeat_times_sync(offbeat_process.clock, header != NULL ? header->began_ns : 0);
    if (header != NULL)
        close_file(header);
    offbeat_clock_free(&offbeat_process.clock);
}

void offbeat_trace_abort(void) {
    offbeat_trace_header *header = offbeat_file_header();
    has_aborted = 1;
    if (header == NULL || header->pid != getpid())
        return;
    header->ended_ns = offbeat_now_ns();
    header->state = OFFBEAT_TRACE_ABORTED;
}

void offbeat_trace_pcontrol(int level) {
    const offbeat_wishes *wishes = &offbeat_process.wishes;
    if (offbeat_process.clock == NULL)
        return;
    if (wishes->syncs && level == wishes->sync_level) {
        const offbeat_trace_header *header = offbeat_file_header();
        offbeat_times_sync(offbeat_process.clock, header != NULL ? header->began_ns : 0);
    } else if (level == 0 || level == 1) {
        atomic_store(&offbeat_is_paused, level == 0);
    }
}
