/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partitioned.h
 * Partitioned communication (MPI 4.0, chapter 4) over the point-to-point messages of MPI 3.
 *
 * The functions have the meaning of MPI's functions of the same name: offbeat_psend_init is MPI_Psend_init,
 * offbeat_pstart is MPI_Start, offbeat_pwait is MPI_Wait. Requests have a type of their own. Differences
 * from MPI:
 *
 *   - A communicator must be attached before its first offbeat_psend_init or offbeat_precv_init. Attaching is
 *     collective and creates private communicators, so that partitioned messages never match the program's
 *     own receives.
 *   - A message is given to MPI inside the offbeat_pready that makes its last partition ready, on every MPI
 *     library. Two exceptions are known in which a message needs further calls of the sender, or a progress
 *     thread: some large messages with Intel MPI, and some of many short messages that are ready at the same
 *     time with Open MPI 4.1.
 *   - Between the first offbeat_pstart of a receive and its completion, the process must call functions that
 *     initialise, start, test, wait for or free requests or ask for partitions, or have a progress thread.
 *     A process that instead blocks in a call of MPI which ends only after the send is complete waits
 *     forever. Later iterations need no call between start and completion.
 *
 * **Messages.** The sender decides how many messages carry its partitions; each message carries consecutive
 * partitions. Keys of the info object of offbeat_psend_init, and environment variables for all requests
 * without the key (an invalid value is an error):
 *
 *   - `offbeat_messages`, `OFFBEAT_PARTITIONED_MESSAGES`: a number of messages, 1 to the number of
 *     partitions (larger numbers mean: one message a partition; at most 1024 messages), or `learned`:
 *     six numbers are tried in iterations 1 to 8 (the first iteration is number 0), and the best is used
 *     afterwards, from iteration 10 at the earliest: that with the shortest time from the last ready
 *     partition to the last arrival, plus the time by which sending earlier messages delayed that partition.
 *     Further trials begin in iterations 16, 128, 1024, ...
 *   - `offbeat_message_bytes`, `OFFBEAT_PARTITIONED_MESSAGE_BYTES`: the smallest size of a message in bytes;
 *     messages are as many as possible, at most 1024, so that each has at least this size (a single message
 *     may be smaller). A partition is never divided. Used without `offbeat_messages`; the key also wins
 *     over `OFFBEAT_PARTITIONED_MESSAGES`; default: 1048576.
 *   - `offbeat_lane`: a number; all messages of the request use the private communicator of this number,
 *     modulo the number of lanes. Threads with a request each should give different lanes. Without the key,
 *     requests and their messages use the lanes in turn.
 *
 * Keys of the info object of offbeat_partitioned_attach, and environment variables:
 *
 *   - `offbeat_lanes`, `OFFBEAT_PARTITIONED_LANES`: number of communicators for data, 1 to 64; default: 4.
 *     The smallest number that a process gave is used.
 *   - `offbeat_progress_thread`, `OFFBEAT_PARTITIONED_PROGRESS_THREAD`: `true` or `false` (default): whether
 *     a thread of this process drives the library's messages while the program computes. It needs
 *     MPI_THREAD_MULTIPLE and a core, and runs until offbeat_partitioned_finalize or MPI_Finalize. In a
 *     program with sessions only, the library cannot ask for the level: all sessions whose communicators are
 *     attached must have it, and offbeat_partitioned_finalize must be called before the last of them ends.
 *
 * **Errors** go to the communicator's error handler; those without a communicator (null requests, wrong
 * lists) to that of MPI_COMM_SELF (MPI 4) or MPI_COMM_WORLD (MPI 3). Their error classes are MPI's. If the
 * MPI library supports texts for new error codes (MPICH 4.0 does not), MPI_Error_string gives a sentence
 * about what was wrong, until the next error of the same class; offbeat_partitioned_error always gives the
 * sentence of the calling thread's last error. A wrong call changes nothing: the request remains usable.
 * (Only offbeat_pstartall with a request twice in its list starts the requests before the second one.) Errors
 * of MPI inside an iteration are raised when the iteration is completed, and by offbeat_parrived. After such
 * an error, later iterations of a receive or a collective may fail with the same error: free the request. All
 * partitions must still be marked: a send or a collective is not complete before. Functions that complete
 * lists of requests raise the error of each request, and return MPI_ERR_IN_STATUS.
 *
 * **Threads.** As with MPI's functions: with MPI_THREAD_MULTIPLE, threads may mark partitions ready and ask
 * for arrived partitions of the same request at the same time. If two threads mark the same partition at the
 * same time, one of the calls fails; of a call for several partitions, some may then be marked. With a lower
 * level, the rules of that level hold: no two calls may overlap, not even for different partitions.
 */
#ifndef OFFBEAT_PARTITIONED_H
#define OFFBEAT_PARTITIONED_H

#include <mpi.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** A partitioned send or receive. */
typedef struct offbeat_partitioned_request *offbeat_prequest;

#define OFFBEAT_PREQUEST_NULL ((offbeat_prequest)0)

/**
 * Prepares a communicator (intra or inter) for partitioned communication. Collective; does nothing if the
 * communicator is attached already. It succeeds on all processes or on none. It creates a communicator for
 * each lane and one more; each takes a context id of MPI. They are freed with the communicator and its
 * requests, or by MPI_Finalize. A duplicate of the communicator must be attached itself.
 * @param info MPI_INFO_NULL or the keys above
 */
int offbeat_partitioned_attach(MPI_Comm comm, MPI_Info info);

/**
 * Ends the progress thread; does nothing without one. Local. MPI_Finalize does the same, but MPICH 4.0 lets
 * no other thread be inside MPI when MPI_Finalize begins: programs with a progress thread should call this
 * before it.
 */
int offbeat_partitioned_finalize(void);

/** A sentence about the last error of this thread; empty when there was none. The string belongs to the
 * library and changes with the next error of this thread. */
const char *offbeat_partitioned_error(void);

/* --- initialisation: local and nonblocking. Sends and receives with equal peer, tag and communicator match
 * in the order of their initialisation. Wildcards are refused. Both sides must describe the same number of
 * bytes, in any number of partitions. If they do not, each iteration of the receive fails with
 * MPI_ERR_TRUNCATE and its buffer is not changed; the send fails in the same way as soon as the receiver's
 * answer has arrived, so that its first iterations may succeed. A send takes a tag for each message and one
 * more until it is freed: offbeat_psend_init fails with MPI_ERR_TAG if none are left. offbeat_precv_init
 * ignores its info object. --- */

int offbeat_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request);
int offbeat_precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request);

/* --- iterations --- */

int offbeat_pstart(offbeat_prequest *request);
int offbeat_pstartall(int count, offbeat_prequest requests[]);

/** Marks partitions as ready; the range includes both ends. */
int offbeat_pready(int partition, offbeat_prequest request);
int offbeat_pready_range(int partition_low, int partition_high, offbeat_prequest request);
int offbeat_pready_list(int length, const int partitions[], offbeat_prequest request);

/** Whether a partition of a receive arrived; true for an inactive request and for OFFBEAT_PREQUEST_NULL. It
 * never yields the core: loops on shared cores should call sched_yield between two calls.
 * @return also the error of an iteration that failed, with a true flag; completing it reports the error again
 */
int offbeat_parrived(offbeat_prequest request, int partition, int *flag);

/* --- completion: requests become inactive and can be started again --- */

int offbeat_ptest(offbeat_prequest *request, int *flag, MPI_Status *status);
int offbeat_ptestall(int count, offbeat_prequest requests[], int *flag, MPI_Status *statuses);
int offbeat_ptestany(int count, offbeat_prequest requests[], int *index, int *flag, MPI_Status *status);
int offbeat_ptestsome(int count, offbeat_prequest requests[], int *completed_count, int indices[],
                      MPI_Status *statuses);
int offbeat_pwait(offbeat_prequest *request, MPI_Status *status);
int offbeat_pwaitall(int count, offbeat_prequest requests[], MPI_Status *statuses);
int offbeat_pwaitany(int count, offbeat_prequest requests[], int *index, MPI_Status *status);
int offbeat_pwaitsome(int count, offbeat_prequest requests[], int *completed_count, int indices[],
                      MPI_Status *statuses);

/**
 * Fails with MPI_ERR_REQUEST for an active request that is not complete, which MPI 4 (4.2.1) does not allow
 * to cancel, and for OFFBEAT_PREQUEST_NULL. Otherwise there is nothing to cancel, and nothing happens. Local.
 */
int offbeat_pcancel(offbeat_prequest *request);

/**
 * Frees an inactive request and sets it to OFFBEAT_PREQUEST_NULL. Local. Fails with MPI_ERR_REQUEST for an
 * active request and for OFFBEAT_PREQUEST_NULL. If the request never gets a matching one on the other side,
 * MPI_Finalize waits up to 10 s for it.
 */
int offbeat_prequest_free(offbeat_prequest *request);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
