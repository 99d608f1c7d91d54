/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failure of one process must not block the others: all processes agree on whether to trace before the
 * clocks are synchronised. After that each process fails alone.
 */
#define _POSIX_C_SOURCE 200809L
#include "trace/process_state.h"

#include "clock/limits.h"
#include "inject/inject.h"
#include "trace/call_path.h"
#include "trace/communicators.h"
#include "trace/message_call.h"
#include "trace/python_frames.h"
#include "trace/sessions.h"
#include "trace/timestamp.h"
#include "trace/trace_file.h"
#include "trace/traced_call.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char path[4096];
static _Atomic int has_aborted;

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...) {
    char message[sizeof path + 512];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    fprintf(stderr, "offbeat: %s\n", message);
}

/* Properties of the run, determined by rank 0. */
typedef struct run_info {
    uint64_t id;
    int64_t start_ns; /* on the shared clock */
} run_info;

static uint64_t new_run_id(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec) *
               UINT64_C(0x9E3779B97F4A7C15) ^
           (uint64_t)getpid();
}

/* Creates the folder of a file, and its parents. @return 0, or an errno value */
static int create_folder_of(const char *file) {
    char part[sizeof path];
    int error = 0;
    snprintf(part, sizeof part, "%s", file);
    for (char *cursor = part + 1; *cursor != '\0'; cursor++)
        if (*cursor == '/') {
            *cursor = '\0';
            error = mkdir(part, 0777) == 0 || errno == EEXIST ? 0 : errno; /* the last one counts */
            *cursor = '/';
        }
    return error;
}

/* Whether MPI spawned this process. */
static int is_spawned(void) {
    MPI_Comm parent = MPI_COMM_NULL;
    if (!offbeat_tracer_state.has_sessions_only)
        PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

/* Sets `path`. Processes that MPI spawned have an MPI_COMM_WORLD of their own, with ranks from 0: their trace
 * is in a folder of its own inside that of the program. @return 0, or an errno value */
static int set_path(uint64_t run_id) {
    char spawn_folder[48] = "";
    if (is_spawned())
        snprintf(spawn_folder, sizeof spawn_folder, "spawned-%016llx/", (unsigned long long)run_id);
    int bytes = snprintf(path, sizeof path, "%s/%srank-%06d.trace", offbeat_tracer_state.config.folder,
                         spawn_folder, offbeat_tracer_state.rank);
    return bytes < (int)sizeof path ? 0 : ENAMETOOLONG;
}

/* Whether another run's file has the name of this process's file, and a message about it. */
static int is_path_taken(char *error, size_t bytes) {
    if (is_spawned() || set_path(0) != 0 || access(path, F_OK) != 0)
        return 0;
    snprintf(error, bytes,
             "%.300s exists already and is not overwritten; OFFBEAT_TRACE_DIR should name a new folder for "
             "this run",
             path);
    return 1;
}

static void write_strings(offbeat_trace_header *header) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int bytes = 0;
    gethostname(header->host, sizeof header->host - 1);
    ssize_t length = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    header->program[length > 0 ? length : 0] = '\0';
    PMPI_Get_library_version(version, &bytes);
    version[strcspn(version, "\n")] = '\0';
    snprintf(header->library, sizeof header->library, "%.*s", (int)sizeof header->library - 1, version);
    snprintf(header->source, sizeof header->source, "%s", offbeat_clock_source(offbeat_tracer_state.clock));
    offbeat_tracer_config_format(header->sampling, sizeof header->sampling);
}

static void write_header(offbeat_trace_header *header, uint64_t run_id) {
    struct timespec now;
    header->version = OFFBEAT_TRACE_VERSION;
    header->page_bytes = OFFBEAT_TRACE_PAGE_BYTES;
    header->page_header_bytes = OFFBEAT_TRACE_PAGE_HEADER_BYTES;
    header->record_bytes = OFFBEAT_TRACE_RECORD_BYTES;
    header->rank = offbeat_tracer_state.rank;
    header->size = offbeat_tracer_state.size;
    header->run = run_id;
    header->pid = getpid();
    clock_gettime(CLOCK_REALTIME, &now);
    header->began_ns = offbeat_tracer_now_ns();
    header->began_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    header->drift_limit = OFFBEAT_DRIFT_LIMIT;
    header->wander = OFFBEAT_WANDER_LIMIT;
    header->period = offbeat_tracer_state.config.period;
    header->has_messages = offbeat_tracer_state.config.has_messages != 0;
    header->bytes_limit = offbeat_tracer_state.config.max_file_bytes;
    header->stamps_wrong_ns = offbeat_tracer_timestamp_bound_ns();
    write_strings(header);
    offbeat_tracer_file_begin();
}

/* Creates this process's file and starts recording. */
static void open_file(const run_info *run) {
    int error = set_path(run->id);
    if (error == 0)
        error = create_folder_of(path);
    if (error == 0)
        error = offbeat_tracer_file_create(path, offbeat_tracer_state.config.max_file_bytes);
    if (error != 0) {
        print("rank %d cannot write its trace into the folder %s (%s) and continues untraced; "
              "OFFBEAT_TRACE_DIR should name a folder that can be written to",
              offbeat_tracer_state.rank, offbeat_tracer_state.config.folder, strerror(error));
        return;
    }
    write_header(offbeat_tracer_file_header(), run->id);
    offbeat_tracer_define_functions();
    offbeat_tracer_define_mappings();
    offbeat_tracer_python_detect();
    offbeat_tracer_write_clock_point();
    offbeat_tracer_set_window(run->start_ns);
    int thread_level = MPI_THREAD_MULTIPLE; /* sessions may have different levels */
    if (!offbeat_tracer_state.has_sessions_only)
        PMPI_Query_thread(&thread_level);
    offbeat_tracer_requests_share(thread_level == MPI_THREAD_MULTIPLE);
    if (offbeat_tracer_communicators_init() == 0)
        atomic_store(&offbeat_tracer_is_tracing, 1);
    else
        print("MPI cannot create a communicator attribute; the program continues untraced");
}

/* Whether all processes can trace; the lowest rank that cannot prints why. Collective. */
static int agree_to_trace(void) {
    char error[512];
    int can_trace = offbeat_tracer_config_read(&offbeat_tracer_state.config, error, sizeof error) == 0 &&
                    !is_path_taken(error, sizeof error);
    int failed_rank = can_trace ? INT_MAX : offbeat_tracer_state.rank, lowest;
    PMPI_Allreduce(&failed_rank, &lowest, 1, MPI_INT, MPI_MIN, offbeat_tracer_state.world);
    if (lowest == offbeat_tracer_state.rank)
        print("%s; the program continues untraced (rank %d)", error, lowest);
    return lowest == INT_MAX;
}

static void print_clock_error(void) {
    const char *error = offbeat_clock_error();
    if (offbeat_tracer_state.rank == 0)
        print("the clocks could not be synchronised (%s); the program continues untraced",
              *error != '\0' ? error : "an MPI call failed");
}

/* At exit, of a process that did not call MPI_Finalize. A forked process shares the file and must not mark
 * it. */
static void mark_exit(void) {
    offbeat_trace_header *header = offbeat_tracer_file_header();
    if (header == NULL || header->pid != getpid() || header->state != OFFBEAT_TRACE_RUNNING)
        return;
    offbeat_tracer_file_end(OFFBEAT_TRACE_EXITED, offbeat_tracer_now_ns());
}

_Static_assert((int)OFFBEAT_TRACER_FUNCTION_COUNT <= (int)OFFBEAT_INJECT_MAX_FUNCTIONS,
               "inject.h needs more room");

static const char *name_of_function(int function) {
    return offbeat_tracer_functions[function].name;
}

static atomic_flag has_begun = ATOMIC_FLAG_INIT;

/* Collective over a communicator of all processes. */
static void begin_on(MPI_Comm world) {
    offbeat_tracer_state.world = world;
    PMPI_Comm_rank(world, &offbeat_tracer_state.rank);
    PMPI_Comm_size(world, &offbeat_tracer_state.size);
    if (!agree_to_trace())
        return;
    if (offbeat_tracer_create_clock() != 0) {
        print_clock_error();
        return;
    }
    run_info run = {.id = new_run_id(), .start_ns = offbeat_clock_now(offbeat_tracer_state.clock).global_ns};
    PMPI_Bcast(&run, sizeof run, MPI_BYTE, 0, offbeat_tracer_state.world);
    if (!offbeat_ranges_contain(&offbeat_tracer_state.config.ranks, offbeat_tracer_state.rank))
        return;
    open_file(&run);
    atexit(mark_exit);
}

static void begin(void) {
    if (atomic_flag_test_and_set(&has_begun))
        return;
    offbeat_inject_begin(name_of_function, OFFBEAT_TRACER_FUNCTION_COUNT);
    if (offbeat_inject_is_requested() && offbeat_settings_value("OFFBEAT_TRACE_DIR") == NULL)
        return; /* delays alone */
    begin_on(MPI_COMM_WORLD);
}

/* Reports records that were lost, in the file and, unless the user limited the file, on stderr. */
static void report_lost_records(const offbeat_trace_header *header) {
    char note[512];
    if (!offbeat_tracer_file_is_whole()) {
        print("rank %d: another program truncated, moved or deleted the trace file %s while the program ran; "
              "records are missing",
              header->rank, path);
        return;
    }
    if (header->lost_count == 0)
        return;
    snprintf(note, sizeof note, "%llu records found no room in the trace (%s); the earlier ones are complete",
             (unsigned long long)header->lost_count,
             header->lost_because > 0 ? strerror(header->lost_because) : "OFFBEAT_TRACE_BYTES was reached");
    offbeat_tracer_define_note(offbeat_tracer_now_ns(), note);
    if (header->lost_because > 0)
        print("rank %d: %s", header->rank, note);
}

static void close_file(offbeat_trace_header *header) {
    offbeat_tracer_define_mappings();
    offbeat_tracer_communicators_finalize();
    report_lost_records(header);
    atomic_store(&offbeat_tracer_is_tracing, 0);
    offbeat_tracer_file_end(OFFBEAT_TRACE_FINALIZED, offbeat_tracer_now_ns());
    offbeat_tracer_file_close();
}

static void synchronise(void) {
    const offbeat_trace_header *header = offbeat_tracer_file_header();
    offbeat_tracer_resync(header != NULL ? header->began_ns : 0);
}

static void end(void) {
    static atomic_flag has_ended = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&has_ended))
        return;
    if (!has_aborted)
        offbeat_inject_end();
    if (offbeat_tracer_state.clock == NULL)
        return;
    /* MPI_Abort may return before the launcher ends this process: other processes have ended, and the run
     * stays marked as aborted. */
    if (has_aborted)
        return;
    synchronise();
    offbeat_trace_header *header = offbeat_tracer_file_header();
    if (header != NULL)
        close_file(header);
    offbeat_clock_free(&offbeat_tracer_state.clock);
}

static void mark_abort(void) {
    offbeat_trace_header *header = offbeat_tracer_file_header();
    has_aborted = 1;
    if (header == NULL || header->pid != getpid())
        return;
    offbeat_tracer_file_end(OFFBEAT_TRACE_ABORTED, offbeat_tracer_now_ns());
}

/* --- what the wrappers call --- */

void offbeat_tracer_init_enter(void) {
    offbeat_tracer_unrecorded_enter();
}

void offbeat_tracer_init_leave(int code) {
    if (offbeat_tracer_unrecorded_leave() && code == MPI_SUCCESS)
        begin();
}

void offbeat_tracer_finalize_enter(void) {
    if (offbeat_tracer_unrecorded_enter())
        end();
}

void offbeat_tracer_session_init_leave(int code) {
    if (offbeat_tracer_unrecorded_leave() && code == MPI_SUCCESS)
        offbeat_tracer_session_add();
}

void offbeat_tracer_created_from_groups(MPI_Comm newcomm) {
    int has_world = 0;
    PMPI_Initialized(&has_world);
    if (has_world || offbeat_inject_is_requested() || atomic_flag_test_and_set(&has_begun))
        return;
    const MPI_Comm world = offbeat_tracer_session_world(newcomm);
    if (world == MPI_COMM_NULL) {
        atomic_flag_clear(&has_begun);
        return;
    }
    offbeat_tracer_state.has_sessions_only = 1;
    begin_on(world);
}

void offbeat_tracer_session_finalize_enter(void) {
    if (!offbeat_tracer_unrecorded_enter() || !offbeat_tracer_session_remove())
        return;
    if (offbeat_tracer_state.has_sessions_only)
        end();
    offbeat_tracer_session_free(offbeat_tracer_state.has_sessions_only ? offbeat_tracer_state.world
                                                                       : MPI_COMM_NULL);
}

void offbeat_tracer_abort_enter(void) {
    if (offbeat_tracer_unrecorded_enter())
        mark_abort();
}

void offbeat_tracer_end_leave(void) {
    offbeat_tracer_unrecorded_leave();
}

static void control(int level) {
    const offbeat_tracer_config *config = &offbeat_tracer_state.config;
    if (config->has_sync_level && level == config->sync_level)
        synchronise();
    else if (level == 0 || level == 1)
        atomic_store(&offbeat_tracer_is_paused, level == 0);
}

/* Recorded if calls are recorded before or after: the marks of a pause are its begin and its end. */
void offbeat_tracer_pcontrol_enter(int level, uint16_t flags, offbeat_tracer_caller caller) {
    offbeat_tracer_thread *thread = &offbeat_tracer_this_thread;
    if (thread->depth++ > 0 || offbeat_tracer_state.clock == NULL)
        return;
    const int64_t enter_ns = offbeat_tracer_timestamp_ns(&thread->timestamps);
    const int was_recorded = offbeat_tracer_in_window(enter_ns);
    control(level);
    if (!offbeat_tracer_is_tracing || !(was_recorded || offbeat_tracer_in_window(enter_ns)))
        return;
    const offbeat_tracer_message_call call = {
        .thread = thread,
        .is_traced = 1,
        .is_recorded = 1,
        .function = OFFBEAT_Pcontrol,
        .flags = flags,
        .enter_ns = enter_ns,
        .exit_ns = offbeat_tracer_timestamp_ns(&thread->timestamps),
        .caller = caller,
    };
    offbeat_tracer_message_write_call(&call, OFFBEAT_TRACE_MARK, level);
}
