/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests without MPI: equal entries are taken in the order in which they were added, and the steps for n
 * entries grow as n does, in whatever order they are taken.
 */
#include "partitioned/entry_table.h"
#include "testing/assert.h"

#include <stdlib.h>

enum { ENTRIES = 1 << 14 };

static offbeat_partitioned_entry entries[ENTRIES];

/* Adds n entries with n / equal different tags, in ascending order. */
static void add(offbeat_partitioned_table *table, int n, int equal) {
    for (int i = 0; i < n; i++) {
        entries[i] = (offbeat_partitioned_entry){.tag = i / equal, .identity = 7};
        offbeat_partitioned_table_add(table, &entries[i]);
    }
}

/* @return the steps for taking n entries, the last tag first or the first one */
static uint64_t steps_of(int n, int equal, int is_reversed) {
    offbeat_partitioned_table table = {0};
    add(&table, n, equal);
    for (int i = 0; i < n; i++) {
        const int group = is_reversed ? n / equal - 1 - i / equal : i / equal;
        offbeat_partitioned_entry *entry = offbeat_partitioned_table_take(&table, group, 7);
        test_assert(entry == &entries[group * equal + i % equal], "Equal entries keep their order.");
    }
    test_assert(offbeat_partitioned_table_take(&table, 0, 7) == NULL && table.count == 0, "It is empty.");
    const uint64_t steps = table.steps;
    offbeat_partitioned_table_end(&table, NULL);
    return steps;
}

static void the_steps_grow_with_the_number_of_entries(void) {
    static const int EQUAL[] = {1, 4, ENTRIES / 4};
    for (int is_reversed = 0; is_reversed <= 1; is_reversed++)
        for (int i = 0; i < 3; i++)
            for (int n = ENTRIES / 4; n <= ENTRIES; n *= 2)
                test_assert(steps_of(n, EQUAL[i], is_reversed) <= 4 * (uint64_t)n, "n entries: 4 n steps");
}

static int released_count;

static void count(offbeat_partitioned_entry *entry) {
    released_count += entry->identity == 7;
}

static void other_communicators_and_tags_are_not_taken(void) {
    offbeat_partitioned_table table = {0};
    add(&table, 100, 1);
    test_assert(offbeat_partitioned_table_take(&table, 3, 8) == NULL, "another communicator");
    test_assert(offbeat_partitioned_table_take(&table, 100, 7) == NULL, "another tag");
    offbeat_partitioned_table_remove(&table, &entries[3]);
    test_assert(offbeat_partitioned_table_take(&table, 3, 7) == NULL, "It was removed.");
    offbeat_partitioned_table_end(&table, count);
    test_assert(released_count == 99, "All others were there.");
}

int main(void) {
    the_steps_grow_with_the_number_of_entries();
    other_communicators_and_tags_are_not_taken();
    return EXIT_SUCCESS;
}
