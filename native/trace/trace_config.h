/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file trace_config.h
 * What to trace: the functions, and the environment variables. Nothing here depends on MPI.
 *
 *   - OFFBEAT_TRACE_DIR: the folder of the files; default `offbeat-trace`, but without this variable nothing
 * is recorded if delays are injected (inject/delay_plan.h)
 *   - OFFBEAT_TRACE_RANKS: ranks of MPI_COMM_WORLD that write a file: `0-3,8`, `16-`
 *   - OFFBEAT_TRACE_EVERY: record every n-th collective of a communicator, every n-th start of a persistent
 * collective; all point-to-point calls
 *   - OFFBEAT_TRACE_COLLECTIVES: `allreduce,alltoall`, each with all its variants; `constructors`
 *   - OFFBEAT_TRACE_MESSAGES: 1: record point-to-point calls as well
 *   - OFFBEAT_TRACE_COMM_SIZES: sizes of the communicators to record (inter-communicators: of both groups
 * together)
 *   - OFFBEAT_TRACE_WINDOW: seconds since rank 0 left MPI_Init on the shared clock, `10-60`, `2.5-`
 *   - OFFBEAT_TRACE_BYTES: the maximum size of a rank's file: `100 MB`, `1GiB`, `65536`
 *   - OFFBEAT_TRACE_DEPTH: the number of return addresses in a call path; 1: that of the call alone; 0: as 1,
 * and without Python's frames
 *   - OFFBEAT_TRACE_SYNC_LEVEL: MPI_Pcontrol with this level synchronises the clocks again, and is then
 * collective over MPI_COMM_WORLD
 */
#ifndef OFFBEAT_TRACE_TRACE_CONFIG_H
#define OFFBEAT_TRACE_TRACE_CONFIG_H

#include "settings/settings.h"

#include <stddef.h>
#include <stdint.h>

/** Ids of the functions in wrapped_functions.h, as in the trace file; 0 is no function. The ids of a
 * collective's three variants are consecutive. */
enum {
    OFFBEAT_NO_FUNCTION,
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    OFFBEAT_##name, OFFBEAT_I##lower, OFFBEAT_##name##_init,
#define OFFBEAT_CONSTRUCTOR(name, ...) OFFBEAT_##name,
#define OFFBEAT_MESSAGE_FUNCTION(name, ...) OFFBEAT_##name,
#define OFFBEAT_PROBE_FUNCTION(name, ...) OFFBEAT_##name,
#define OFFBEAT_REQUEST_FUNCTION(name, ...) OFFBEAT_##name,
#include "trace/wrapped_functions.h"
    OFFBEAT_Pcontrol,
    OFFBEAT_TRACER_FUNCTION_COUNT
};

typedef struct offbeat_tracer_function {
    const char *name;        /**< "MPI_Ibcast" */
    const char *option_name; /**< its name in OFFBEAT_TRACE_COLLECTIVES: "bcast", "constructors"; empty for
                                other functions */
    uint16_t mode;           /**< OFFBEAT_TRACE_BLOCKING and so on */
    uint16_t collective;     /**< id of the blocking variant */
} offbeat_tracer_function;

/** By id; OFFBEAT_TRACER_FUNCTION_COUNT entries, of which the first is empty. */
extern const offbeat_tracer_function offbeat_tracer_functions[];

enum { OFFBEAT_TRACER_MAX_DEPTH = 16, OFFBEAT_TRACER_DEFAULT_DEPTH = 4 };

typedef struct offbeat_tracer_config {
    const char *folder;
    offbeat_ranges ranks, comm_sizes;
    unsigned period;                                          /**< at least 1 */
    unsigned char is_recorded[OFFBEAT_TRACER_FUNCTION_COUNT]; /**< by id of a collective or constructor */
    int has_messages;                                         /**< point-to-point calls are recorded */
    double window_start_s, window_end_s;                      /**< 0 and infinity: always */
    uint64_t max_file_bytes;                                  /**< 0: unlimited */
    int depth;                                                /**< 0 to OFFBEAT_TRACER_MAX_DEPTH */
    int has_sync_level, sync_level;
} offbeat_tracer_config;

/**
 * Reads the environment.
 * @param[out] error a message, on failure; @p bytes long
 * @return 0, or -1 if a variable is invalid
 */
int offbeat_tracer_config_read(offbeat_tracer_config *config, char *error, size_t bytes);

/** Writes the variables that are set and leave out calls, as NAME=VALUE, separated by spaces. */
void offbeat_tracer_config_format(char *text, size_t bytes);

#endif
