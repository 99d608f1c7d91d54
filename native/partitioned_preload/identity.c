/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned_preload/identity.h"

#include "partitioned/attach.h"
#include "partitioned/errors.h"

#include <offbeat/partitioned.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WORLD_IDENTITY = 1, SELF_IDENTITY = 2 };

/* The attribute of a communicator. */
typedef struct known_comm {
    int64_t identity;
    atomic_uint children;
} known_comm;

static int keyval = MPI_KEYVAL_INVALID; /* set by MPI_Init */

static int delete_known(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    free(value);
    return MPI_SUCCESS;
}

static known_comm *find_known(MPI_Comm comm) {
    void *value = NULL;
    int is_set = 0;
    if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL ||
        PMPI_Comm_get_attr(comm, keyval, (void *)&value, &is_set) != MPI_SUCCESS)
        return NULL;
    return is_set ? value : NULL;
}

/* A positive hash of both (the finalizer of SplitMix64). */
static int64_t mix(int64_t first, int64_t second) {
    uint64_t bits = (uint64_t)first * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)second;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    bits ^= bits >> 31;
    return (int64_t)(bits >> 1) | 1;
}

int64_t offbeat_preload_child_identity(MPI_Comm parent) {
    known_comm *of_parent = find_known(parent);
    return of_parent == NULL ? 0 : mix(of_parent->identity, atomic_fetch_add(&of_parent->children, 1) + 1);
}

/* The smallest of numbers of which no two are equal. On an inter-communicator, a reduction gives the result
 * of the other group; the second one therefore combines both. */
int64_t offbeat_preload_agreed_identity(MPI_Comm comm) {
    static atomic_uint agreement_count;
    int rank;
    int64_t other_identity, smallest;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int64_t identity = mix(-1 - (int64_t)rank, atomic_fetch_add(&agreement_count, 1));
    if (PMPI_Allreduce(&identity, &other_identity, 1, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS)
        return 0;
    identity = other_identity < identity ? other_identity : identity;
    return PMPI_Allreduce(&identity, &smallest, 1, MPI_INT64_T, MPI_MIN, comm) == MPI_SUCCESS ? smallest : 0;
}

void offbeat_preload_set_identity(MPI_Comm comm, int64_t identity) {
    if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL || identity == 0)
        return;
    known_comm *new_comm = malloc(sizeof *new_comm);
    if (new_comm == NULL)
        return;
    new_comm->identity = identity;
    atomic_init(&new_comm->children, 0);
    if (PMPI_Comm_set_attr(comm, keyval, new_comm) != MPI_SUCCESS)
        free(new_comm);
}

int offbeat_preload_begin(void) {
    int rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_known, &keyval, NULL);
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_preload_set_identity(MPI_COMM_WORLD, WORLD_IDENTITY);
    offbeat_preload_set_identity(MPI_COMM_SELF, SELF_IDENTITY);
    return offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL);
}

int offbeat_preload_attach(const char *function, MPI_Comm comm) {
    const known_comm *of_comm;
    if (comm == MPI_COMM_NULL || offbeat_partitioned_comm_of(comm) != NULL)
        return MPI_SUCCESS;
    of_comm = find_known(comm);
    if (of_comm != NULL)
        return offbeat_partitioned_attach_to(comm, MPI_COMM_WORLD, of_comm->identity);
    return offbeat_partitioned_fail(
        comm, MPI_ERR_COMM,
        "%s: liboffbeat-partitioned-preload.so did not see the call of %s; it sees calls in C, and those in "
        "Fortran with MPICH and Intel MPI",
        function, keyval == MPI_KEYVAL_INVALID ? "MPI_Init" : "the function that created the communicator");
}
