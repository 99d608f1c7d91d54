/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared clock, offsets only: every process learns its offset to rank 0's clock from its parent in a
 * binomial tree, which already knows the shared clock (the order of HCA3; Schuchart, Hunold and Bosilca,
 * EuroMPI 2023, section 4, figure 5). A round of the tree costs one chain of ping-pongs; there are ceil(log2
 * p) rounds.
 */
#include <offbeat/clock.h>

#include "clock/interval.h"
#include "clock/local.h"
#include "clock/messages.h"
#include "clock/tree.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_READY = 1, TAG_PING = 2, TAG_PONG = 3 };

/* A chain of ping-pongs ends when so many in a row brought nothing, or when it became long or slow. */
enum { FEWEST_EXCHANGES = 10, FRUITLESS_EXCHANGES = 10, MOST_EXCHANGES = 200 };
static const int64_t LONGEST_CHAIN_NS = 20 * 1000 * 1000;

/* Polls before a waiting process gives its core away: some ten microseconds, more than a round trip on a
 * network, so that the accuracy doesn't suffer where every process has a core. */
enum { PATIENCE = 200 };

struct offbeat_clock {
    MPI_Comm comm;
    int rank, size;
    int is_shared;
    int64_t offset_ns;                      /* shared clock minus local clock */
    int64_t error_ns;                       /* error bound of the offset when it was learned */
    int64_t synced_at_ns;                   /* local time at which it was learned */
    char reference[OFFBEAT_IDENTITY_BYTES]; /* which physical clock rank 0 reads */
};

int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns) {
    return local_ns + clock->offset_ns;
}

int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns) {
    return global_ns - clock->offset_ns;
}

int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns) {
    return clock->is_shared ? 0 : clock->error_ns + offbeat_drift_ns(local_ns - clock->synced_at_ns);
}

int offbeat_clock_is_shared(const offbeat_clock *clock) {
    return clock->is_shared;
}

int64_t offbeat_clock_age_ns(const offbeat_clock *clock) {
    return offbeat_clock_local_ns() - clock->synced_at_ns;
}

/* One ping-pong with the parent, asked for by the learner. */
static int exchange_with(int parent, MPI_Comm comm, offbeat_exchange *exchange) {
    int again = 1;
    int64_t answer[2] = {0, 0};
    exchange->sent_ns = offbeat_clock_local_ns();
    int rc = MPI_Send(&again, 1, MPI_INT, parent, TAG_PING, comm);
    if (rc == MPI_SUCCESS)
        rc = offbeat_receive(answer, 2, MPI_INT64_T, parent, TAG_PONG, comm, PATIENCE);
    exchange->received_ns = offbeat_clock_local_ns();
    exchange->answered_ns = answer[0];
    exchange->answered_error_ns = answer[1];
    return rc;
}

/* Repeats ping-pongs until the interval stays as it is, then tells the parent that it is done. */
static int measure_interval(const offbeat_clock *clock, int parent, offbeat_interval *interval) {
    const int64_t began_ns = offbeat_clock_local_ns();
    int fruitless = 0;
    for (int i = 0; i < MOST_EXCHANGES && fruitless < FRUITLESS_EXCHANGES; i++) {
        offbeat_exchange exchange;
        int rc = exchange_with(parent, clock->comm, &exchange);
        if (rc != MPI_SUCCESS)
            return rc;
        fruitless = offbeat_interval_narrow(interval, &exchange) ? 0 : fruitless + 1;
        if (i + 1 >= FEWEST_EXCHANGES && exchange.received_ns - began_ns > LONGEST_CHAIN_NS)
            break;
    }
    int again = 0;
    return MPI_Send(&again, 1, MPI_INT, parent, TAG_PING, clock->comm);
}

/* Adopts what the exchanges showed. The same physical clock is believed only when they don't speak against
 * it. */
static void adopt(offbeat_clock *clock, const offbeat_interval *interval) {
    char own[OFFBEAT_IDENTITY_BYTES];
    int64_t low_ns, high_ns;
    offbeat_local_identity(own);
    clock->synced_at_ns = offbeat_clock_local_ns();
    offbeat_interval_at(interval, clock->synced_at_ns, &low_ns, &high_ns);
    int is_same = own[0] != '\0' && strncmp(own, clock->reference, sizeof own) == 0;
    clock->is_shared = is_same && low_ns <= 0 && high_ns >= 0;
    clock->offset_ns = clock->is_shared ? 0 : low_ns + (high_ns - low_ns) / 2;
    clock->error_ns = clock->is_shared ? 0 : (high_ns - low_ns + 1) / 2;
}

/* Learns the shared clock from the parent, once the parent knows it. */
static int learn(offbeat_clock *clock, int parent) {
    int rc = offbeat_receive(clock->reference, sizeof clock->reference, MPI_CHAR, parent, TAG_READY,
                             clock->comm, PATIENCE);
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_interval interval = {.exchanges = 0};
    rc = measure_interval(clock, parent, &interval);
    if (rc == MPI_SUCCESS)
        adopt(clock, &interval);
    return rc;
}

/* Answers a child with the shared clock and its error bound until the child has enough. */
static int teach(const offbeat_clock *clock, int child) {
    int rc = MPI_Send(clock->reference, sizeof clock->reference, MPI_CHAR, child, TAG_READY, clock->comm);
    for (;;) {
        int again = 0;
        if (rc == MPI_SUCCESS)
            rc = offbeat_receive(&again, 1, MPI_INT, child, TAG_PING, clock->comm, PATIENCE);
        if (rc != MPI_SUCCESS || !again)
            return rc;
        int64_t now_ns = offbeat_clock_local_ns();
        int64_t answer[2] = {offbeat_clock_global_ns(clock, now_ns), offbeat_clock_bound_ns(clock, now_ns)};
        rc = MPI_Send(answer, 2, MPI_INT64_T, child, TAG_PONG, clock->comm);
    }
}

/* Rank 0 is the reference. */
static void be_reference(offbeat_clock *clock) {
    clock->is_shared = 1;
    clock->offset_ns = 0;
    clock->error_ns = 0;
    clock->synced_at_ns = offbeat_clock_local_ns();
    offbeat_local_identity(clock->reference);
}

int offbeat_clock_sync(offbeat_clock *clock) {
    if (clock == NULL)
        return MPI_ERR_ARG;
    int rc = MPI_SUCCESS;
    if (clock->rank == 0)
        be_reference(clock);
    else
        rc = learn(clock, offbeat_tree_parent(clock->rank));
    /* The child with the most descendants first: the others' subtrees are done by the time its is. */
    for (int distance = offbeat_tree_span(clock->rank, clock->size) / 2; distance > 0; distance /= 2) {
        if (rc == MPI_SUCCESS && clock->rank + distance < clock->size)
            rc = teach(clock, clock->rank + distance);
    }
    return rc;
}

/* Reads the virtual offset that tests may give this process. */
static int obey_test_offset(void) {
    int world_rank;
    int rc = MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (rc != MPI_SUCCESS)
        return rc;
    const char *text = getenv("OFFBEAT_CLOCK_TEST_OFFSET_NS");
    return offbeat_local_set_test_offset(text, world_rank) == 0 ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* What offbeat_clock_create does once there is a clock to fill. */
static int set_up(offbeat_clock *clock, MPI_Comm comm) {
    int rc = offbeat_duplicate(comm, &clock->comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(clock->comm, &clock->rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(clock->comm, &clock->size);
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_sync(clock);
    return rc;
}

int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock) {
    if (clock == NULL)
        return MPI_ERR_ARG;
    *clock = NULL;
    int rc = obey_test_offset();
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_clock *created = calloc(1, sizeof *created);
    if (created == NULL)
        return MPI_ERR_NO_MEM;
    created->comm = MPI_COMM_NULL;
    rc = set_up(created, comm);
    if (rc == MPI_SUCCESS)
        *clock = created;
    else
        offbeat_clock_free(&created);
    return rc;
}

int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result) {
    return MPI_Comm_compare(clock->comm, comm, result);
}

int offbeat_clock_free(offbeat_clock **clock) {
    if (clock == NULL || *clock == NULL)
        return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    if ((*clock)->comm != MPI_COMM_NULL)
        rc = MPI_Comm_free(&(*clock)->comm);
    free(*clock);
    *clock = NULL;
    return rc;
}
