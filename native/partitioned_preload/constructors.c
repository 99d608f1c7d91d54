/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that initialise and finalise MPI, and functions that create communicators: new communicators get
 * their identity.
 */
#include "partitioned_preload/identity.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/wait.h"

int MPI_Init(int *argc, char ***argv) {
    int rc = NEXT(MPI_Init)(argc, argv);
    return rc == MPI_SUCCESS ? offbeat_preload_begin() : rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required_level, int *provided_level) {
    int rc = NEXT(MPI_Init_thread)(argc, argv, required_level, provided_level);
    return rc == MPI_SUCCESS ? offbeat_preload_begin() : rc;
}

int MPI_Finalize(void) {
    offbeat_preload_end();
    return NEXT(MPI_Finalize)();
}

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* A function that is collective over its first argument. */
#define OFFBEAT_CONSTRUCTOR(name, parameters, arguments)                                                     \
    int name parameters {                                                                                    \
        const int64_t identity = offbeat_preload_child_identity(comm);                                       \
        int rc = NEXT(name) arguments;                                                                       \
        if (rc == MPI_SUCCESS)                                                                               \
            offbeat_preload_set_identity(*newcomm, identity);                                                \
        return rc;                                                                                           \
    }

OFFBEAT_CONSTRUCTOR(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
                    (comm, info, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
                    (comm, color, key, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Comm_split_type,
                    (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm),
                    (comm, split_type, key, info, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
                    (comm, group, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Cart_create,
                    (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, dimensions, sizes, periods, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm),
                    (comm, remain_dims, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Graph_create,
                    (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, nodes, index, edges, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Dist_graph_create,
                    (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
                     const int weights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
                    (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Dist_graph_create_adjacent,
                    (MPI_Comm comm, int indegree, const int sources[], const int source_weights[],
                     int outdegree, const int destinations[], const int destination_weights[], MPI_Info info,
                     int reorder, MPI_Comm *newcomm),
                    (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights,
                     info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *newcomm), (comm, high, newcomm))
/* The handle of the new communicator is there before it is complete. */
OFFBEAT_CONSTRUCTOR(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
                    (comm, newcomm, request))
OFFBEAT_CONSTRUCTOR(MPI_Comm_idup_with_info,
                    (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
                    (comm, info, newcomm, request))

// NOLINTEND(bugprone-macro-parentheses)

/* Functions whose processes share no order of calls agree on the identity through the new communicator. */

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm) {
    int rc = NEXT(MPI_Comm_create_group)(comm, group, tag, newcomm);
    if (rc == MPI_SUCCESS && *newcomm != MPI_COMM_NULL)
        offbeat_preload_set_identity(*newcomm, offbeat_preload_agreed_identity(*newcomm));
    return rc;
}

int MPI_Intercomm_create(MPI_Comm comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                         MPI_Comm *newcomm) {
    int rc = NEXT(MPI_Intercomm_create)(comm, local_leader, peer_comm, remote_leader, tag, newcomm);
    if (rc == MPI_SUCCESS)
        offbeat_preload_set_identity(*newcomm, offbeat_preload_agreed_identity(*newcomm));
    return rc;
}
