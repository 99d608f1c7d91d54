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
 * OFFBEAT_CONSTRUCTOR(name, lower, kind, strings, parameters, names): constructors of communicators, with
 * their parameters in C and the names of these. Fortran has the same parameters, then the error code, then
 * the lengths of so many strings. `newcomm` is the new communicator. Kinds:
 *
 *   - COMM: called by all processes of `comm`
 *   - GROUP: called by the processes of `newcomm` only
 *   - NONBLOCKING: as COMM, but nonblocking (`request`)
 *   - SPAWN, SPAWN_MULTIPLE: as COMM; the spawned processes get the tracer's variables (spawn_info.h)
 *   - DESTRUCTOR: frees the communicator that `comm` points to
 *
 * OFFBEAT_MESSAGE_FUNCTION(name, lower, blocking, mode, signature): point-to-point functions with a buffer,
 * each also with large counts (_c), and OFFBEAT_PROBE_FUNCTION, those without one. `blocking` is the blocking
 * variant; the parameters are OFFBEAT_MESSAGE_<signature> in message_signatures.h.
 *
 * OFFBEAT_REQUEST_FUNCTION(name, lower, completed_by, count, requests, statuses, result, parameters, names):
 * functions that complete or start requests. `statuses` is STATUS(name) of one status, STATUSES(name) of as
 * many as there are requests, or nothing. `result` takes the requests after the call: ALL(whether all of them
 * are complete, statuses), SOME(count, indices, statuses), STARTED, FREED or CANCELLED. INTEGER(name) is an
 * argument, INTEGER_AT(name) what it points to.
 *
 * This file is included several times. Macros that the including file does not define expand to nothing.
 */
#ifndef OFFBEAT_CONSTRUCTOR
#define OFFBEAT_CONSTRUCTOR(name, lower, kind, strings, parameters, names)
#endif
#ifndef OFFBEAT_MESSAGE_FUNCTION
#define OFFBEAT_MESSAGE_FUNCTION(name, lower, blocking, mode, signature)
#endif
#ifndef OFFBEAT_PROBE_FUNCTION
#define OFFBEAT_PROBE_FUNCTION(name, lower, blocking, mode, signature)
#endif
#ifndef OFFBEAT_REQUEST_FUNCTION
#define OFFBEAT_REQUEST_FUNCTION(name, lower, completion_kind, count, requests, statuses, result,            \
                                 parameters, names)
#endif

#define OFFBEAT_MEASURED_COLLECTIVE OFFBEAT_COLLECTIVE
#define OFFBEAT_TRACED_COLLECTIVE OFFBEAT_COLLECTIVE
#include "collectives/collectives.def"

OFFBEAT_CONSTRUCTOR(Comm_dup, comm_dup, COMM, 0, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_dup_with_info, comm_dup_with_info, COMM, 0,
                    (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm), (comm, info, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_idup, comm_idup, NONBLOCKING, 0,
                    (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request), (comm, newcomm, request))
OFFBEAT_CONSTRUCTOR(Comm_idup_with_info, comm_idup_with_info, NONBLOCKING, 0,
                    (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
                    (comm, info, newcomm, request))
OFFBEAT_CONSTRUCTOR(Comm_create, comm_create, COMM, 0, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
                    (comm, group, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_create_group, comm_create_group, GROUP, 0,
                    (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm), (comm, group, tag, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_split, comm_split, COMM, 0, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
                    (comm, color, key, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_split_type, comm_split_type, COMM, 0,
                    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm),
                    (comm, type, key, info, newcomm))
OFFBEAT_CONSTRUCTOR(Cart_create, cart_create, COMM, 0,
                    (MPI_Comm comm, int count, const int sides[], const int periods[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, sides, periods, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Cart_sub, cart_sub, COMM, 0, (MPI_Comm comm, const int remains[], MPI_Comm *newcomm),
                    (comm, remains, newcomm))
OFFBEAT_CONSTRUCTOR(Graph_create, graph_create, COMM, 0,
                    (MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, index, edges, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Dist_graph_create, dist_graph_create, COMM, 0,
                    (MPI_Comm comm, int count, const int sources[], const int degrees[],
                     const int destinations[], const int weights[], MPI_Info info, int reorder,
                     MPI_Comm *newcomm),
                    (comm, count, sources, degrees, destinations, weights, info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Dist_graph_create_adjacent, dist_graph_create_adjacent, COMM, 0,
                    (MPI_Comm comm, int sources, const int source_ranks[], const int source_weights[],
                     int destinations, const int target_ranks[], const int target_weights[], MPI_Info info,
                     int reorder, MPI_Comm *newcomm),
                    (comm, sources, source_ranks, source_weights, destinations, target_ranks, target_weights,
                     info, reorder, newcomm))
OFFBEAT_CONSTRUCTOR(Intercomm_create, intercomm_create, COMM, 0,
                    (MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag,
                     MPI_Comm *newcomm),
                    (comm, leader, bridge, remote_leader, tag, newcomm))
OFFBEAT_CONSTRUCTOR(Intercomm_merge, intercomm_merge, COMM, 0, (MPI_Comm comm, int high, MPI_Comm *newcomm),
                    (comm, high, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_create_from_group, comm_create_from_group, GROUP, 1,
                    (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
                     MPI_Comm *newcomm),
                    (group, tag, info, handler, newcomm))
OFFBEAT_CONSTRUCTOR(Intercomm_create_from_groups, intercomm_create_from_groups, GROUP, 1,
                    (MPI_Group group, int leader, MPI_Group remote, int remote_leader, const char *tag,
                     MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
                    (group, leader, remote, remote_leader, tag, info, handler, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_accept, comm_accept, COMM, 1,
                    (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
                    (port, info, root, comm, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_connect, comm_connect, COMM, 1,
                    (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
                    (port, info, root, comm, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_spawn, comm_spawn, SPAWN, 2,
                    (const char *program, char *argv[], int count, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm *newcomm, int codes[]),
                    (program, argv, count, info, root, comm, newcomm, codes))
OFFBEAT_CONSTRUCTOR(Comm_spawn_multiple, comm_spawn_multiple, SPAWN_MULTIPLE, 2,
                    (int count, char *programs[], char **argvs[], const int counts[], const MPI_Info infos[],
                     int root, MPI_Comm comm, MPI_Comm *newcomm, int codes[]),
                    (count, programs, argvs, counts, infos, root, comm, newcomm, codes))
OFFBEAT_CONSTRUCTOR(Comm_join, comm_join, GROUP, 0, (int socket, MPI_Comm *newcomm), (socket, newcomm))
OFFBEAT_CONSTRUCTOR(Comm_free, comm_free, DESTRUCTOR, 0, (MPI_Comm * comm), (comm))
OFFBEAT_CONSTRUCTOR(Comm_disconnect, comm_disconnect, DESTRUCTOR, 0, (MPI_Comm * comm), (comm))

OFFBEAT_MESSAGE_FUNCTION(Send, send, Send, BLOCKING, SEND)
OFFBEAT_MESSAGE_FUNCTION(Isend, isend, Send, NONBLOCKING, ISEND)
OFFBEAT_MESSAGE_FUNCTION(Send_init, send_init, Send, PERSISTENT, SEND_INIT)
OFFBEAT_MESSAGE_FUNCTION(Bsend, bsend, Bsend, BLOCKING, SEND)
OFFBEAT_MESSAGE_FUNCTION(Ibsend, ibsend, Bsend, NONBLOCKING, ISEND)
OFFBEAT_MESSAGE_FUNCTION(Bsend_init, bsend_init, Bsend, PERSISTENT, SEND_INIT)
OFFBEAT_MESSAGE_FUNCTION(Ssend, ssend, Ssend, BLOCKING, SEND)
OFFBEAT_MESSAGE_FUNCTION(Issend, issend, Ssend, NONBLOCKING, ISEND)
OFFBEAT_MESSAGE_FUNCTION(Ssend_init, ssend_init, Ssend, PERSISTENT, SEND_INIT)
OFFBEAT_MESSAGE_FUNCTION(Rsend, rsend, Rsend, BLOCKING, SEND)
OFFBEAT_MESSAGE_FUNCTION(Irsend, irsend, Rsend, NONBLOCKING, ISEND)
OFFBEAT_MESSAGE_FUNCTION(Rsend_init, rsend_init, Rsend, PERSISTENT, SEND_INIT)
OFFBEAT_MESSAGE_FUNCTION(Recv, recv, Recv, BLOCKING, RECV)
OFFBEAT_MESSAGE_FUNCTION(Irecv, irecv, Recv, NONBLOCKING, IRECV)
OFFBEAT_MESSAGE_FUNCTION(Recv_init, recv_init, Recv, PERSISTENT, RECV_INIT)
OFFBEAT_MESSAGE_FUNCTION(Mrecv, mrecv, Mrecv, BLOCKING, MRECV)
OFFBEAT_MESSAGE_FUNCTION(Imrecv, imrecv, Mrecv, NONBLOCKING, IMRECV)
OFFBEAT_MESSAGE_FUNCTION(Sendrecv, sendrecv, Sendrecv, BLOCKING, SENDRECV)
OFFBEAT_MESSAGE_FUNCTION(Isendrecv, isendrecv, Sendrecv, NONBLOCKING, ISENDRECV)
OFFBEAT_MESSAGE_FUNCTION(Sendrecv_replace, sendrecv_replace, Sendrecv_replace, BLOCKING, SENDRECV_REPLACE)
OFFBEAT_MESSAGE_FUNCTION(Isendrecv_replace, isendrecv_replace, Sendrecv_replace, NONBLOCKING,
                         ISENDRECV_REPLACE)
OFFBEAT_PROBE_FUNCTION(Probe, probe, Probe, BLOCKING, PROBE)
OFFBEAT_PROBE_FUNCTION(Iprobe, iprobe, Probe, NONBLOCKING, IPROBE)
OFFBEAT_PROBE_FUNCTION(Mprobe, mprobe, Mprobe, BLOCKING, MPROBE)
OFFBEAT_PROBE_FUNCTION(Improbe, improbe, Mprobe, NONBLOCKING, IMPROBE)

OFFBEAT_REQUEST_FUNCTION(Wait, wait, OFFBEAT_TRACE_BY_WAIT, 1, request, STATUS(status),
                         COMPLETE_ALL(1, status), (MPI_Request * request, MPI_Status *status),
                         (request, status))
OFFBEAT_REQUEST_FUNCTION(Waitall, waitall, OFFBEAT_TRACE_BY_WAITALL, INTEGER(count), requests,
                         STATUSES(statuses), COMPLETE_ALL(1, statuses),
                         (int count, MPI_Request requests[], MPI_Status statuses[]),
                         (count, requests, statuses))
OFFBEAT_REQUEST_FUNCTION(Waitany, waitany, OFFBEAT_TRACE_BY_WAITANY, INTEGER(count), requests, STATUS(status),
                         COMPLETE_SOME(1, index, status),
                         (int count, MPI_Request requests[], int *index, MPI_Status *status),
                         (count, requests, index, status))
OFFBEAT_REQUEST_FUNCTION(Waitsome, waitsome, OFFBEAT_TRACE_BY_WAITSOME, INTEGER(count), requests,
                         STATUSES(statuses), COMPLETE_SOME(INTEGER_AT(outcount), indices, statuses),
                         (int count, MPI_Request requests[], int *outcount, int indices[],
                          MPI_Status statuses[]),
                         (count, requests, outcount, indices, statuses))
OFFBEAT_REQUEST_FUNCTION(Test, test, OFFBEAT_TRACE_BY_TEST, 1, request, STATUS(status),
                         COMPLETE_ALL(INTEGER_AT(flag) != 0, status),
                         (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
OFFBEAT_REQUEST_FUNCTION(Testall, testall, OFFBEAT_TRACE_BY_TESTALL, INTEGER(count), requests,
                         STATUSES(statuses), COMPLETE_ALL(INTEGER_AT(flag) != 0, statuses),
                         (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
                         (count, requests, flag, statuses))
OFFBEAT_REQUEST_FUNCTION(Testany, testany, OFFBEAT_TRACE_BY_TESTANY, INTEGER(count), requests, STATUS(status),
                         COMPLETE_SOME(INTEGER_AT(flag) != 0, index, status),
                         (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
                         (count, requests, index, flag, status))
OFFBEAT_REQUEST_FUNCTION(Testsome, testsome, OFFBEAT_TRACE_BY_TESTSOME, INTEGER(count), requests,
                         STATUSES(statuses), COMPLETE_SOME(INTEGER_AT(outcount), indices, statuses),
                         (int count, MPI_Request requests[], int *outcount, int indices[],
                          MPI_Status statuses[]),
                         (count, requests, outcount, indices, statuses))
OFFBEAT_REQUEST_FUNCTION(Start, start, OFFBEAT_TRACE_BY_NONE, 1, request, , LEAVE_START,
                         (MPI_Request * request), (request))
OFFBEAT_REQUEST_FUNCTION(Startall, startall, OFFBEAT_TRACE_BY_NONE, INTEGER(count), requests, , LEAVE_START,
                         (int count, MPI_Request requests[]), (count, requests))
OFFBEAT_REQUEST_FUNCTION(Request_free, request_free, OFFBEAT_TRACE_BY_FREE, 1, request, , LEAVE_FREE,
                         (MPI_Request * request), (request))
OFFBEAT_REQUEST_FUNCTION(Cancel, cancel, OFFBEAT_TRACE_BY_NONE, 1, request, , LEAVE_CANCEL,
                         (MPI_Request * request), (request))

#undef OFFBEAT_CONSTRUCTOR
#undef OFFBEAT_MESSAGE_FUNCTION
#undef OFFBEAT_PROBE_FUNCTION
#undef OFFBEAT_REQUEST_FUNCTION
