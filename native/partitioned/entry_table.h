/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file entry_table.h
 * What waits for a counterpart with the same tag and communicator: setups for their receives, receives for
 * their setups. A hash table, in which equal entries keep their order; adding, taking and removing one of n
 * entries takes a constant number of steps on average.
 */
#ifndef OFFBEAT_PARTITIONED_ENTRY_TABLE_H
#define OFFBEAT_PARTITIONED_ENTRY_TABLE_H

#include <stddef.h>
#include <stdint.h>

/** An entry; the owner of the memory sets tag and identity. */
typedef struct offbeat_partitioned_entry {
    int64_t tag;
    int64_t identity; /**< of the communicator */
    struct offbeat_partitioned_entry *previous, *next;
} offbeat_partitioned_entry;

typedef struct offbeat_partitioned_bucket {
    offbeat_partitioned_entry *first, *last;
} offbeat_partitioned_bucket;

/** A table; all zeros: an empty one. */
typedef struct offbeat_partitioned_table {
    offbeat_partitioned_bucket *buckets; /**< NULL: `single` is the only one */
    offbeat_partitioned_bucket single;
    size_t mask;    /**< number of buckets, a power of two, less 1 */
    size_t count;   /**< entries */
    uint64_t steps; /**< entries that were looked at so far */
} offbeat_partitioned_table;

/** Adds an entry behind those that are equal to it. */
void offbeat_partitioned_table_add(offbeat_partitioned_table *table, offbeat_partitioned_entry *entry);

/** Removes the first entry with this tag and communicator. @return the entry, NULL if there is none */
offbeat_partitioned_entry *offbeat_partitioned_table_take(offbeat_partitioned_table *table, int64_t tag,
                                                          int64_t identity);

/** Removes an entry of the table. */
void offbeat_partitioned_table_remove(offbeat_partitioned_table *table, offbeat_partitioned_entry *entry);

/** Removes all entries, and frees the memory of the table. @param release is called with each entry; NULL:
 * nothing is */
void offbeat_partitioned_table_end(offbeat_partitioned_table *table,
                                   void (*release)(offbeat_partitioned_entry *entry));

#endif
