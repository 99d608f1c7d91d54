/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment may say, and what is refused in a sentence. */
#define _POSIX_C_SOURCE 200809L
#include "testing/assert.h"
#include "trace/wishes.h"

#include <math.h>
#include <string.h>

static offbeat_wishes wishes;
static char why[512];

/* Reads one variable alone. */
static int with(const char *name, const char *value) {
    setenv(name, value, 1);
    int code = offbeat_wishes_read(&wishes, why, sizeof why);
    unsetenv(name);
    return code;
}

static void test_nothing_set_means_everything(void) {
    test_assert(offbeat_wishes_read(&wishes, why, sizeof why) == 0, "an empty environment was refused: %s",
                why);
    test_assert(strcmp(wishes.folder, "offbeat-trace") == 0, "the folder is %s", wishes.folder);
    test_assert(wishes.every == 1 && wishes.limit_bytes == 0 && !wishes.syncs, "something is limited");
    test_assert(wishes.window_from_s == 0 && isinf(wishes.window_to_s), "there is a window");
    test_assert(offbeat_ranges_have(&wishes.ranks, 0) && offbeat_ranges_have(&wishes.sizes, 100000),
                "some ranks or sizes are left out");
    for (int id = 1; id < OFFBEAT_FUNCTIONS; id++)
        test_assert(wishes.takes[id], "%s is left out", offbeat_functions[id].name);
}

static void test_ranges_are_inclusive_and_may_be_open(void) {
    test_assert(with("OFFBEAT_TRACE_RANKS", "0-3,8,16-") == 0, "ranges were refused: %s", why);
    const long in[] = {0, 3, 8, 16, 1000000}, out[] = {4, 7, 9, 15};
    for (int i = 0; i < 5; i++)
        test_assert(offbeat_ranges_have(&wishes.ranks, in[i]), "rank %ld is out", in[i]);
    for (int i = 0; i < 4; i++)
        test_assert(!offbeat_ranges_have(&wishes.ranks, out[i]), "rank %ld is in", out[i]);
}

static void test_a_collective_brings_its_variants(void) {
    test_assert(with("OFFBEAT_TRACE_COLLECTIVES", "Allreduce,neighbor_alltoall") == 0, "names: %s", why);
    test_assert(wishes.takes[OFFBEAT_Allreduce] && wishes.takes[OFFBEAT_Iallreduce] &&
                    wishes.takes[OFFBEAT_Allreduce_init] && wishes.takes[OFFBEAT_Ineighbor_alltoall],
                "a variant is left out");
    test_assert(!wishes.takes[OFFBEAT_Reduce] && !wishes.takes[OFFBEAT_Neighbor_alltoallv] &&
                    !wishes.takes[OFFBEAT_Comm_dup],
                "another collective is in");
    test_assert(with("OFFBEAT_TRACE_COLLECTIVES", "constructors") == 0 && wishes.takes[OFFBEAT_Comm_dup] &&
                    wishes.takes[OFFBEAT_Comm_free] && !wishes.takes[OFFBEAT_Bcast],
                "constructors are not what was asked for");
}

static void test_sizes_have_units(void) {
    test_assert(with("OFFBEAT_TRACE_BYTES", "1 MiB") == 0 && wishes.limit_bytes == 1048576, "1 MiB: %s", why);
    test_assert(with("OFFBEAT_TRACE_BYTES", "2GB") == 0 && wishes.limit_bytes == 2000000000, "2GB: %s", why);
    test_assert(with("OFFBEAT_TRACE_BYTES", "200000") == 0 && wishes.limit_bytes == 200000, "200000: %s",
                why);
}

static void test_windows_may_be_open(void) {
    test_assert(with("OFFBEAT_TRACE_WINDOW", "2.5-60") == 0 && wishes.window_from_s == 2.5 &&
                    wishes.window_to_s == 60,
                "2.5-60: %s", why);
    test_assert(with("OFFBEAT_TRACE_WINDOW", "10-") == 0 && wishes.window_from_s == 10 &&
                    isinf(wishes.window_to_s),
                "10-: %s", why);
}

static void test_what_cannot_be_read_is_refused_by_name(void) {
    static const char *const wrong[][2] = {{"OFFBEAT_TRACE_RANKS", "a"},
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
                                           {"OFFBEAT_TRACE_SYNC_LEVEL", "1"},
                                           {"OFFBEAT_TRACE_SYNC_LEVEL", "five"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test_assert(with(wrong[i][0], wrong[i][1]) == -1, "%s=%s was taken", wrong[i][0], wrong[i][1]);
        test_assert(strstr(why, wrong[i][0]) != NULL && strstr(why, wrong[i][1]) != NULL &&
                        strstr(why, "it should be") != NULL,
                    "of %s=%s was said: %s", wrong[i][0], wrong[i][1], why);
    }
}

static void test_the_file_says_what_was_asked_for(void) {
    char text[128], little[16];
    setenv("OFFBEAT_TRACE_EVERY", "10", 1);
    setenv("OFFBEAT_TRACE_RANKS", "0-3", 1);
    offbeat_wishes_say(text, sizeof text);
    test_assert(strcmp(text, "OFFBEAT_TRACE_RANKS=0-3 OFFBEAT_TRACE_EVERY=10") == 0, "it says: %s", text);
    offbeat_wishes_say(little, sizeof little);
    test_assert(strncmp(little, text, 15) == 0 && little[15] == '\0', "cut off it says: %s", little);
    unsetenv("OFFBEAT_TRACE_EVERY");
    unsetenv("OFFBEAT_TRACE_RANKS");
}

int main(void) {
    test_nothing_set_means_everything();
    test_ranges_are_inclusive_and_may_be_open();
    test_a_collective_brings_its_variants();
    test_sizes_have_units();
    test_windows_may_be_open();
    test_what_cannot_be_read_is_refused_by_name();
    test_the_file_says_what_was_asked_for();
    return 0;
}
