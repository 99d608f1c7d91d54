/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wrapped_functions.h
 * The functions that are traced: all wrappers in C and in Fortran, and the trampolines, are generated from
 * these rows.
 *
 * OFFBEAT_COLLECTIVE(name, lower, signature, ...), of the table of collectives: MPI_<name>, MPI_I<lower> and
 * MPI_<name>_init, each also with large counts (_c). Their arguments are OFFBEAT_PARAMETERS_<signature> in
 * signatures.h.
 *
 * Constructors of communicators: (name, lower, parameters in C, names of the parameters). Fortran has the
 * same parameters and then the error code. `newcomm` is the new communicator.
 *
 *   - OFFBEAT_CONSTRUCTOR: called by all processes of `comm`
 *   - OFFBEAT_GROUP_CONSTRUCTOR: called by the processes of `newcomm` only
 *   - OFFBEAT_NONBLOCKING_CONSTRUCTOR: as OFFBEAT_CONSTRUCTOR, but nonblocking (`request`)
 *   - OFFBEAT_STRING_CONSTRUCTOR, OFFBEAT_STRING_GROUP_CONSTRUCTOR: with strings among the arguments; Fortran
 * appends the lengths of `strings` strings
 *   - OFFBEAT_DESTRUCTOR: frees the communicator that `comm` points to
 *
 * This file is included several times. Macros that the including file does not define expand to nothing.
 */
#ifndef OFFBEAT_CONSTRUCTOR
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_GROUP_CONSTRUCTOR
#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_NONBLOCKING_CONSTRUCTOR
#define OFFBEAT_NONBLOCKING_CONSTRUCTOR(name, lower, parameters, names)
#endif
#ifndef OFFBEAT_STRING_CONSTRUCTOR
#define OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, strings)
#endif
#ifndef OFFBEAT_STRING_GROUP_CONSTRUCTOR
#define OFFBEAT_STRING_GROUP_CONSTRUCTOR(name, lower, parameters, names, strings)
#endif
#ifndef OFFBEAT_DESTRUCTOR
#define OFFBEAT_DESTRUCTOR(name, lower)
#endif

#define OFFBEAT_MEASURED_COLLECTIVE OFFBEAT_COLLECTIVE
#define OFFBEAT_TRACED_COLLECTIVE OFFBEAT_COLLECTIVE
#include "collectives/collectives.def"

OFFBEAT_CONSTRUCTOR(Comm_dup, comm_dup, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_dup_with_info, comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
                    (comm, info, newcomm))
OFFBEAT_NONBLOCKING_CONSTRUCTOR(Comm_idup, comm_idup,
                                (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
                                (comm, newcomm, request))
OFFBEAT_NONBLOCKING_CONSTRUCTOR(Comm_idup_with_info, comm_idup_with_info,
                                (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
                                (comm, info, newcomm, request))
OFFBEAT_CONSTRUCTOR(Comm_create, comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
                    (comm, group, newcomm))
OFFBEAT_GROUP_CONSTRUCTOR(Comm_create_group, comm_create_group,
                          (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm),
                          (comm, group, tag, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_split, comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
                    (comm, color, key, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_split_type, comm_split_type,
                    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm),
                    (comm, type, key, info, newcomm))
OFFBEAT_CONSTRUCTOR(Cart_create, cart_create,
                    (MPI_Comm comm, int count, const int sides[], const int periods[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, sides, periods, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Cart_sub, cart_sub, (MPI_Comm comm, const int remains[], MPI_Comm *newcomm),
                    (comm, remains, newcomm))
OFFBEAT_CONSTRUCTOR(Graph_create, graph_create,
                    (MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, index, edges, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Dist_graph_create, dist_graph_create,
                    (MPI_Comm comm, int count, const int sources[], const int degrees[],
                     const int destinations[], const int weights[], MPI_Info info, int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, sources, degrees, destinations, weights, info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Dist_graph_create_adjacent, dist_graph_create_adjacent,
                    (MPI_Comm comm, int sources, const int from[], const int from_weights[], int destinations,
                     const int to[], const int to_weights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
                    (comm, sources, from, from_weights, destinations, to, to_weights, info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Intercomm_create, intercomm_create,
                    (MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag,
                     MPI_Comm *newcomm),
                    (comm, leader, bridge, remote_leader, tag, newcomm))
OFFBEAT_CONSTRUCTOR(Intercomm_merge, intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *newcomm),
                    (comm, high, newcomm))
OFFBEAT_STRING_GROUP_CONSTRUCTOR(Comm_create_from_group, comm_create_from_group,
                                 (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
                                  MPI_Comm *newcomm),
                                 (group, tag, info, handler, newcomm), 1)
OFFBEAT_STRING_GROUP_CONSTRUCTOR(Intercomm_create_from_groups, intercomm_create_from_groups,
                                 (MPI_Group group, int leader, MPI_Group remote, int remote_leader,
                                  const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
                                 (group, leader, remote, remote_leader, tag, info, handler, newcomm), 1)
OFFBEAT_STRING_CONSTRUCTOR(Comm_accept, comm_accept,
                           (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
                           (port, info, root, comm, newcomm), 1)
OFFBEAT_STRING_CONSTRUCTOR(Comm_connect, comm_connect,
                           (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
                           (port, info, root, comm, newcomm), 1)
OFFBEAT_STRING_CONSTRUCTOR(Comm_spawn, comm_spawn,
                           (const char *program, char *argv[], int count, MPI_Info info, int root,
                            MPI_Comm comm, MPI_Comm *newcomm, int codes[]),
                           (program, argv, count, info, root, comm, newcomm, codes), 2)
OFFBEAT_STRING_CONSTRUCTOR(Comm_spawn_multiple, comm_spawn_multiple,
                           (int count, char *programs[], char **argvs[], const int counts[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *newcomm, int codes[]),
                           (count, programs, argvs, counts, infos, root, comm, newcomm, codes), 2)
OFFBEAT_GROUP_CONSTRUCTOR(Comm_join, comm_join, (int socket, MPI_Comm *newcomm), (socket, newcomm))
OFFBEAT_DESTRUCTOR(Comm_free, comm_free)
OFFBEAT_DESTRUCTOR(Comm_disconnect, comm_disconnect)

#undef OFFBEAT_CONSTRUCTOR
#undef OFFBEAT_GROUP_CONSTRUCTOR
#undef OFFBEAT_NONBLOCKING_CONSTRUCTOR
#undef OFFBEAT_STRING_CONSTRUCTOR
#undef OFFBEAT_STRING_GROUP_CONSTRUCTOR
#undef OFFBEAT_DESTRUCTOR
