/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file table.h
 * Every collective that is traced: the one table from which all wrappers come, for C and for Fortran.
 *
 * OFFBEAT_COLLECTIVE(name, lower, shape): MPI_<name>, MPI_I<lower>, MPI_<name>_init, each also with large
 * counts (_c); its arguments are those of OFFBEAT_SHAPE_<shape> in shapes.h.
 *
 * Constructors of communicators: (name, lower, parameters in C, the parameters' names). `made` is the new
 * communicator; that of Fortran has the same arguments and one more, the error code.
 *
 *   - OFFBEAT_CONSTRUCTOR: a call of all members of `comm`
 *   - OFFBEAT_GROUP_CONSTRUCTOR: a call of the new communicator's members only
 *   - OFFBEAT_IDLE_CONSTRUCTOR: the same as OFFBEAT_CONSTRUCTOR, but nonblocking (`request`)
 *   - OFFBEAT_TEXT_CONSTRUCTOR, OFFBEAT_TEXT_GROUP_CONSTRUCTOR: the same, where Fortran adds the lengths of
 *     `texts` texts
 *   - OFFBEAT_DESTRUCTOR: of the communicator that `comm` points to
 *
 * A macro that isn't defined where this file is included stands for nothing. It is included several times.
 */
#ifndef OFFBEAT_COLLECTIVE
#define OFFBEAT_COLLECTIVE(name, lower, shape)
#endif
#ifndef OFFBEAT_CONSTRUCTOR
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_GROUP_CONSTRUCTOR
#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_IDLE_CONSTRUCTOR
#define OFFBEAT_IDLE_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_TEXT_CONSTRUCTOR
#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts)
#endif
#ifndef OFFBEAT_TEXT_GROUP_CONSTRUCTOR
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR(name, lower, parameters, names, texts)
#endif
#ifndef OFFBEAT_DESTRUCTOR
#define OFFBEAT_DESTRUCTOR(name, lower)
#endif

OFFBEAT_COLLECTIVE(Barrier, barrier, BARRIER)
OFFBEAT_COLLECTIVE(Bcast, bcast, BCAST)
OFFBEAT_COLLECTIVE(Gather, gather, GATHER)
OFFBEAT_COLLECTIVE(Gatherv, gatherv, GATHERV)
OFFBEAT_COLLECTIVE(Scatter, scatter, SCATTER)
OFFBEAT_COLLECTIVE(Scatterv, scatterv, SCATTERV)
OFFBEAT_COLLECTIVE(Allgather, allgather, EXCHANGE)
OFFBEAT_COLLECTIVE(Allgatherv, allgatherv, ALLGATHERV)
OFFBEAT_COLLECTIVE(Alltoall, alltoall, EXCHANGE)
OFFBEAT_COLLECTIVE(Alltoallv, alltoallv, ALLTOALLV)
OFFBEAT_COLLECTIVE(Alltoallw, alltoallw, ALLTOALLW)
OFFBEAT_COLLECTIVE(Reduce, reduce, REDUCE)
OFFBEAT_COLLECTIVE(Allreduce, allreduce, ALLREDUCE)
OFFBEAT_COLLECTIVE(Reduce_scatter, reduce_scatter, REDUCE_SCATTER)
OFFBEAT_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, ALLREDUCE)
OFFBEAT_COLLECTIVE(Scan, scan, ALLREDUCE)
OFFBEAT_COLLECTIVE(Exscan, exscan, ALLREDUCE)
OFFBEAT_COLLECTIVE(Neighbor_allgather, neighbor_allgather, EXCHANGE)
OFFBEAT_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, ALLGATHERV)
OFFBEAT_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, EXCHANGE)
OFFBEAT_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
OFFBEAT_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW)

OFFBEAT_CONSTRUCTOR(Comm_dup, comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
OFFBEAT_CONSTRUCTOR(Comm_dup_with_info, comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made),
                    (comm, info, made))
OFFBEAT_IDLE_CONSTRUCTOR(Comm_idup, comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request),
                         (comm, made, request))
OFFBEAT_IDLE_CONSTRUCTOR(Comm_idup_with_info, comm_idup_with_info,
                         (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request),
                         (comm, info, made, request))
OFFBEAT_CONSTRUCTOR(Comm_create, comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made),
                    (comm, group, made))
OFFBEAT_GROUP_CONSTRUCTOR(Comm_create_group, comm_create_group,
                          (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made))
OFFBEAT_CONSTRUCTOR(Comm_split, comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made),
                    (comm, color, key, made))
OFFBEAT_CONSTRUCTOR(Comm_split_type, comm_split_type,
                    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
                    (comm, type, key, info, made))
OFFBEAT_CONSTRUCTOR(Cart_create, cart_create,
                    (MPI_Comm comm, int count, const int sides[], const int periods[], int reorder,
                     MPI_Comm *made),
                    (comm, count, sides, periods, reorder, made))
OFFBEAT_CONSTRUCTOR(Cart_sub, cart_sub, (MPI_Comm comm, const int remains[], MPI_Comm *made),
                    (comm, remains, made))
OFFBEAT_CONSTRUCTOR(Graph_create, graph_create,
                    (MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                     MPI_Comm *made),
                    (comm, count, index, edges, reorder, made))
OFFBEAT_CONSTRUCTOR(Dist_graph_create, dist_graph_create,
                    (MPI_Comm comm, int count, const int sources[], const int degrees[],
                     const int destinations[], const int weights[], MPI_Info info, int reorder,
                     MPI_Comm *made),
                    (comm, count, sources, degrees, destinations, weights, info, reorder, made))
OFFBEAT_CONSTRUCTOR(Dist_graph_create_adjacent, dist_graph_create_adjacent,
                    (MPI_Comm comm, int sources, const int from[], const int from_weights[], int destinations,
                     const int to[], const int to_weights[], MPI_Info info, int reorder, MPI_Comm *made),
                    (comm, sources, from, from_weights, destinations, to, to_weights, info, reorder, made))
OFFBEAT_CONSTRUCTOR(Intercomm_create, intercomm_create,
                    (MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag, MPI_Comm *made),
                    (comm, leader, bridge, remote_leader, tag, made))
OFFBEAT_CONSTRUCTOR(Intercomm_merge, intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made),
                    (comm, high, made))
OFFBEAT_TEXT_GROUP_CONSTRUCTOR(Comm_create_from_group, comm_create_from_group,
                               (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
                                MPI_Comm *made),
                               (group, tag, info, handler, made), 1)
OFFBEAT_TEXT_GROUP_CONSTRUCTOR(Intercomm_create_from_groups, intercomm_create_from_groups,
                               (MPI_Group group, int leader, MPI_Group remote, int remote_leader,
                                const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
                               (group, leader, remote, remote_leader, tag, info, handler, made), 1)
OFFBEAT_TEXT_CONSTRUCTOR(Comm_accept, comm_accept,
                         (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
                         (port, info, root, comm, made), 1)
OFFBEAT_TEXT_CONSTRUCTOR(Comm_connect, comm_connect,
                         (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made),
                         (port, info, root, comm, made), 1)
OFFBEAT_TEXT_CONSTRUCTOR(Comm_spawn, comm_spawn,
                         (const char *program, char *words[], int count, MPI_Info info, int root,
                          MPI_Comm comm, MPI_Comm *made, int codes[]),
                         (program, words, count, info, root, comm, made, codes), 2)
OFFBEAT_TEXT_CONSTRUCTOR(Comm_spawn_multiple, comm_spawn_multiple,
                         (int count, char *programs[], char **words[], const int counts[],
                          const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *made, int codes[]),
                         (count, programs, words, counts, infos, root, comm, made, codes), 2)
OFFBEAT_GROUP_CONSTRUCTOR(Comm_join, comm_join, (int socket, MPI_Comm *made), (socket, made))
OFFBEAT_DESTRUCTOR(Comm_free, comm_free)
OFFBEAT_DESTRUCTOR(Comm_disconnect, comm_disconnect)

#undef OFFBEAT_COLLECTIVE
#undef OFFBEAT_CONSTRUCTOR
#undef OFFBEAT_GROUP_CONSTRUCTOR
#undef OFFBEAT_IDLE_CONSTRUCTOR
#undef OFFBEAT_TEXT_CONSTRUCTOR
#undef OFFBEAT_TEXT_GROUP_CONSTRUCTOR
#undef OFFBEAT_DESTRUCTOR
