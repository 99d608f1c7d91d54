/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/entry_table.h"

#include <stdlib.h>

/* Mixes all bits of both numbers: the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable
 * Pseudorandom Number Generators", 2014). */
static uint64_t hash_of(int64_t tag, int64_t identity) {
    uint64_t bits = (uint64_t)tag + 0x9e3779b97f4a7c15U * ((uint64_t)identity + 1);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
}

static offbeat_partitioned_bucket *bucket_of(offbeat_partitioned_table *table, int64_t tag,
                                             int64_t identity) {
    if (table->buckets == NULL)
        return &table->single;
    return &table->buckets[hash_of(tag, identity) & table->mask];
}

static void append(offbeat_partitioned_table *table, offbeat_partitioned_entry *entry) {
    offbeat_partitioned_bucket *bucket = bucket_of(table, entry->tag, entry->identity);
    entry->previous = bucket->last;
    entry->next = NULL;
    if (bucket->last == NULL)
        bucket->first = entry;
    else
        bucket->last->next = entry;
    bucket->last = entry;
}

/* Twice as many buckets; without memory the table stays as it is, and becomes slower. */
static void grow(offbeat_partitioned_table *table) {
    const size_t bucket_count = table->mask + 1;
    offbeat_partitioned_bucket *old = table->buckets, single = table->single;
    offbeat_partitioned_bucket *larger = calloc(2 * bucket_count, sizeof *larger);
    if (larger == NULL)
        return;
    table->buckets = larger;
    table->mask = 2 * bucket_count - 1;
    table->single = (offbeat_partitioned_bucket){0};
    for (size_t i = 0; i < bucket_count; i++) {
        offbeat_partitioned_entry *entry = old == NULL ? single.first : old[i].first;
        while (entry != NULL) {
            offbeat_partitioned_entry *next = entry->next;
            append(table, entry);
            entry = next;
        }
    }
    free(old);
}

void offbeat_partitioned_table_add(offbeat_partitioned_table *table, offbeat_partitioned_entry *entry) {
    if (table->count > table->mask)
        grow(table);
    append(table, entry);
    table->count++;
}

void offbeat_partitioned_table_remove(offbeat_partitioned_table *table, offbeat_partitioned_entry *entry) {
    offbeat_partitioned_bucket *bucket = bucket_of(table, entry->tag, entry->identity);
    if (entry->previous == NULL)
        bucket->first = entry->next;
    else
        entry->previous->next = entry->next;
    if (entry->next == NULL)
        bucket->last = entry->previous;
    else
        entry->next->previous = entry->previous;
    table->count--;
}

offbeat_partitioned_entry *offbeat_partitioned_table_take(offbeat_partitioned_table *table, int64_t tag,
                                                          int64_t identity) {
    offbeat_partitioned_entry *entry = bucket_of(table, tag, identity)->first;
    while (entry != NULL && (entry->tag != tag || entry->identity != identity)) {
        table->steps++;
        entry = entry->next;
    }
    if (entry != NULL) {
        table->steps++;
        offbeat_partitioned_table_remove(table, entry);
    }
    return entry;
}

void offbeat_partitioned_table_end(offbeat_partitioned_table *table,
                                   void (*release)(offbeat_partitioned_entry *entry)) {
    for (size_t i = 0; i <= table->mask && release != NULL; i++) {
        offbeat_partitioned_entry *entry =
            table->buckets == NULL ? table->single.first : table->buckets[i].first;
        while (entry != NULL) {
            offbeat_partitioned_entry *next = entry->next;
            release(entry);
            entry = next;
        }
    }
    free(table->buckets);
    *table = (offbeat_partitioned_table){0};
}
