/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid and invalid values of the environment variables. */
#define _POSIX_C_SOURCE 200809L
#include "trace/trace_config.h"

#include "testing/assert.h"

#include <math.h>
#include <string.h>

static offbeat_tracer_config config;
static char error[512];

/* Reads one variable alone. */
static int read_with(const char *name, const char *value) {
    setenv(name, value, 1);
    int code = offbeat_tracer_config_read(&config, error, sizeof error);
    unsetenv(name);
    return code;
}

static void test_an_empty_environment_records_everything(void) {
    test_assert(offbeat_tracer_config_read(&config, error, sizeof error) == 0, "rejected: %s", error);
    test_assert(strcmp(config.folder, "offbeat-trace") == 0, "the folder is %s", config.folder);
    test_assert(config.period == 1 && config.max_file_bytes == 0 && !config.has_sync_level,
                "there is a limit");
    test_assert(config.window_start_s == 0 && isinf(config.window_end_s), "there is a window");
    test_assert(offbeat_ranges_contain(&config.ranks, 0) &&
                    offbeat_ranges_contain(&config.comm_sizes, 100000),
                "some ranks or sizes are excluded");
    for (int id = 1; id < OFFBEAT_TRACER_FUNCTION_COUNT; id++)
        test_assert(config.is_recorded[id], "%s is excluded", offbeat_tracer_functions[id].name);
}

static void test_ranges_are_inclusive_and_may_be_open(void) {
    test_assert(read_with("OFFBEAT_TRACE_RANKS", "0-3,8,16-") == 0, "ranges were rejected: %s", error);
    const long included_ranks[] = {0, 3, 8, 16, 1000000}, excluded_ranks[] = {4, 7, 9, 15};
    for (int i = 0; i < 5; i++)
        test_assert(offbeat_ranges_contain(&config.ranks, included_ranks[i]), "rank %ld is excluded",
                    included_ranks[i]);
    for (int i = 0; i < 4; i++)
        test_assert(!offbeat_ranges_contain(&config.ranks, excluded_ranks[i]), "rank %ld is included",
                    excluded_ranks[i]);
}

static void test_a_collective_includes_its_variants(void) {
    test_assert(read_with("OFFBEAT_TRACE_COLLECTIVES", "Allreduce,neighbor_alltoall") == 0, "names: %s",
                error);
    test_assert(config.is_recorded[OFFBEAT_Allreduce] && config.is_recorded[OFFBEAT_Iallreduce] &&
                    config.is_recorded[OFFBEAT_Allreduce_init] &&
                    config.is_recorded[OFFBEAT_Ineighbor_alltoall],
                "a variant is excluded");
    test_assert(!config.is_recorded[OFFBEAT_Reduce] && !config.is_recorded[OFFBEAT_Neighbor_alltoallv] &&
                    !config.is_recorded[OFFBEAT_Comm_dup],
                "another collective is included");
    test_assert(read_with("OFFBEAT_TRACE_COLLECTIVES", "constructors") == 0 &&
                    config.is_recorded[OFFBEAT_Comm_dup] && config.is_recorded[OFFBEAT_Comm_free] &&
                    !config.is_recorded[OFFBEAT_Bcast],
                "`constructors` selects other functions");
}

static void test_sizes_have_units(void) {
    test_assert(read_with("OFFBEAT_TRACE_BYTES", "1 MiB") == 0 && config.max_file_bytes == 1048576,
                "1 MiB: %s", error);
    test_assert(read_with("OFFBEAT_TRACE_BYTES", "2GB") == 0 && config.max_file_bytes == 2000000000,
                "2GB: %s", error);
    test_assert(read_with("OFFBEAT_TRACE_BYTES", "200000") == 0 && config.max_file_bytes == 200000,
                "200000: %s", error);
}

static void test_whole_numbers(void) {
    test_assert(read_with("OFFBEAT_TRACE_EVERY", "10") == 0 && config.period == 10, "every: %s", error);
    test_assert(read_with("OFFBEAT_TRACE_DEPTH", "0") == 0 && config.depth == 0, "depth: %s", error);
    test_assert(!config.has_messages, "point-to-point calls are recorded unless asked for");
    test_assert(read_with("OFFBEAT_TRACE_MESSAGES", "1") == 0 && config.has_messages, "messages: %s", error);
    test_assert(read_with("OFFBEAT_TRACE_SYNC_LEVEL", "7") == 0 && config.has_sync_level &&
                    config.sync_level == 7,
                "level: %s", error);
}

static void test_windows_may_be_open(void) {
    test_assert(read_with("OFFBEAT_TRACE_WINDOW", "2.5-60") == 0 && config.window_start_s == 2.5 &&
                    config.window_end_s == 60,
                "2.5-60: %s", error);
    test_assert(read_with("OFFBEAT_TRACE_WINDOW", "10-") == 0 && config.window_start_s == 10 &&
                    isinf(config.window_end_s),
                "10-: %s", error);
}

static void test_invalid_values_are_rejected_with_their_variable(void) {
    static const char *const invalid[][2] = {{"OFFBEAT_TRACE_RANKS", "a"},
                                             {"OFFBEAT_TRACE_RANKS", "3-1"},
                                             {"OFFBEAT_TRACE_RANKS", "1,"},
                                             {"OFFBEAT_TRACE_RANKS", "99999999999999999999"},
                                             {"OFFBEAT_TRACE_EVERY", "0"},
                                             {"OFFBEAT_TRACE_EVERY", "2x"},
                                             {"OFFBEAT_TRACE_EVERY", "-1"},
                                             {"OFFBEAT_TRACE_COLLECTIVES", "allreduc"},
                                             {"OFFBEAT_TRACE_COLLECTIVES", "bcast,"},
                                             {"OFFBEAT_TRACE_COLLECTIVES", "bcast, reduce"},
                                             {"OFFBEAT_TRACE_COMM_SIZES", "2..4"},
                                             {"OFFBEAT_TRACE_WINDOW", "5"},
                                             {"OFFBEAT_TRACE_WINDOW", "5-5"},
                                             {"OFFBEAT_TRACE_WINDOW", "1.2.3-4"},
                                             {"OFFBEAT_TRACE_WINDOW", "-4"},
                                             {"OFFBEAT_TRACE_BYTES", "100"},
                                             {"OFFBEAT_TRACE_BYTES", "1 mb"},
                                             {"OFFBEAT_TRACE_BYTES", "99999999 TiB"},
                                             {"OFFBEAT_TRACE_DEPTH", "17"},
                                             {"OFFBEAT_TRACE_DEPTH", "-1"},
                                             {"OFFBEAT_TRACE_MESSAGES", "yes"},
                                             {"OFFBEAT_TRACE_COLLECTIVES", ","},
                                             {"OFFBEAT_TRACE_SYNC_LEVEL", "1"},
                                             {"OFFBEAT_TRACE_SYNC_LEVEL", "five"}};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        test_assert(read_with(invalid[i][0], invalid[i][1]) == -1, "%s=%s was accepted", invalid[i][0],
                    invalid[i][1]);
        test_assert(strstr(error, invalid[i][0]) != NULL && strstr(error, invalid[i][1]) != NULL &&
                        strstr(error, "it should be") != NULL,
                    "the message about %s=%s is: %s", invalid[i][0], invalid[i][1], error);
    }
}

static void test_the_variables_are_formatted(void) {
    char text[128], truncated_text[16];
    setenv("OFFBEAT_TRACE_EVERY", "10", 1);
    setenv("OFFBEAT_TRACE_RANKS", "0-3", 1);
    offbeat_tracer_config_format(text, sizeof text);
    test_assert(strcmp(text, "OFFBEAT_TRACE_RANKS=0-3 OFFBEAT_TRACE_EVERY=10") == 0, "the text is: %s", text);
    offbeat_tracer_config_format(truncated_text, sizeof truncated_text);
    test_assert(strncmp(truncated_text, text, 15) == 0 && truncated_text[15] == '\0', "truncated it is: %s",
                truncated_text);
    unsetenv("OFFBEAT_TRACE_EVERY");
    unsetenv("OFFBEAT_TRACE_RANKS");
}

int main(void) {
    test_an_empty_environment_records_everything();
    test_ranges_are_inclusive_and_may_be_open();
    test_a_collective_includes_its_variants();
    test_sizes_have_units();
    test_whole_numbers();
    test_windows_may_be_open();
    test_invalid_values_are_rejected_with_their_variable();
    test_the_variables_are_formatted();
    return 0;
}
