/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file format.h
 * The format of trace files, version 5: one file per rank, `rank-000003.trace` in the trace's folder.
 *
 * All numbers are little-endian; all structures have the memory layout of a 64-bit machine, without padding.
 * The file is a sequence of pages of OFFBEAT_TRACE_PAGE_BYTES. Page 0 is the header. Every other page begins
 * with an offbeat_trace_page, whose `kind` determines the rest:
 *
 *   - OFFBEAT_TRACE_NOTHING: an unused page. Unused pages are at the end, unless the process was killed while
 * it allocated a page; so a reader reads all of them. The file may end with pages of zeros, or be truncated
 * in the middle of a page: the rest of it is valid.
 *   - OFFBEAT_TRACE_ENCODED: records of one lane as words; see below. The tracer writes them.
 *   - OFFBEAT_TRACE_RECORDS: up to OFFBEAT_TRACE_RECORDS_A_PAGE records of one lane as structures. Simulated
 * programs write them.
 *   - OFFBEAT_TRACE_MESSAGES: likewise OFFBEAT_TRACE_MESSAGES_A_PAGE messages (calls of point-to-point and
 * partitioned communication, and marks) of one lane.
 *   - OFFBEAT_TRACE_DEFINITIONS: a sequence of definitions. Each is an offbeat_trace_definition, the rest of
 * the structure of its kind, and zeros up to a multiple of 8 bytes. A `kind` of 0 ends the page. A definition
 * is written before the first record that refers to it; but pages of both kinds alternate, so that a reader
 * reads all definitions first.
 *
 * The file is written through a shared memory mapping: its contents survive the process, however it ends.
 * The member `published_words` of a page is written last, and by one store: it says how much of the page was
 * written, and the checksum of that.
 *
 * **Checksums.** A page consists of OFFBEAT_TRACE_PAGE_WORDS words of 8 bytes behind its header. Its checksum
 * is the sum of the numbers mix(word + (i + 1) × 0x9E3779B97F4A7C15) modulo 2^64 over the words that were
 * written, where i is the index of a word, and over four more: OFFBEAT_TRACE_KIND_WORD: kind + lane × 2^32;
 * OFFBEAT_TRACE_ORIGIN_WORD: `origin_ns`; OFFBEAT_TRACE_RUN_WORD: `run` of the file's header;
 * OFFBEAT_TRACE_PLACE_WORD: rank + 2^32 × number of the page. `published_words` holds the upper 40 bits of
 * the sum, so that a page is not valid at another place or in another file. A process that is killed while it
 * changes an OFFBEAT_TRACE_POLL leaves a wrong checksum; `before_poll` is the value of `published_words`
 * without that message, which is the last one. The header has two checksums of the same kind over its own
 * words: `checksum` over those that do not change, `state_checksum` over the members that do.
 *
 * **Encoded records.** Words from the first one on are entries, of which the lower 10 bits are a number.
 * Below OFFBEAT_TRACE_MOST_TEMPLATES, it is that of an offbeat_trace_template in the same page, and the entry
 * is a record: its members are those of the template, except that `enter_ns` is that of the record before it
 * in the page (of the first one `origin_ns`) plus the next 28 bits, and `exit_ns` is `enter_ns` plus the
 * upper 26 bits; and that `sequence` is that of the record with the same communicator before it in the page
 * (of the first one 0) plus `advance`. Larger numbers are OFFBEAT_TRACE_TIMES and so on: the entry has
 * another value for the next record in its upper 54 bits. Template t occupies the words from
 * OFFBEAT_TRACE_PAGE_WORDS - (t + 1) × OFFBEAT_TRACE_TEMPLATE_WORDS on. In a loop, a record is one word.
 *
 * **Earlier versions.** Versions 1 to 4 have no checksums, no encoded records, and records without the
 * members from `largest_bytes` on; all entries of a page whose `function` is not 0 were written. Versions 1
 * and 2 do not have messages; version 3 has only the first six kinds of them.
 *
 * **Lanes.** Threads write records concurrently, each into pages of a lane of its own. The records of a lane
 * are in the order in which the calls returned, as are its messages, and the calls of a lane never overlap.
 * When a thread ends, another thread may reuse its lane.
 *
 * **Matching ranks.** The records of one collective on several ranks have the same key (communicator,
 * sequence, round), where communicators are matched by (hash, ordinal) of their definitions. The sequence
 * counts the calls on a communicator, which are in the same order on all its processes, including those that
 * sampling omits. The round distinguishes the starts of a persistent collective; starts of different requests
 * may be in another order on each process.
 *
 * **Matching messages.** MPI does not let messages overtake each other: of the messages from one rank to
 * another on one communicator with one tag, the k-th that was sent is received by the k-th receive that was
 * posted. Messages and receives are posted in the order of `enter_ns` of their calls: of a blocking call
 * itself, of a nonblocking one the issue, of a persistent one the start. Peer and tag of a receive with a
 * wildcard are those of its status: in the message of a blocking call itself, otherwise in that of the
 * completion. A message that MPI_Mprobe or MPI_Improbe found is received by that call: it is the issue of a
 * receive, whose completion is MPI_Mrecv, or the completion of MPI_Imrecv. Before a message that states how
 * many others were not recorded (`partition`), that many are missing. A completion whose issue was not
 * recorded stands for the issue: it was posted before all recorded ones, and such completions are in the
 * order of their request numbers. Partitioned communication matches by its initialisations alone, apart from
 * other messages; the n-th starts of matching requests belong together.
 *
 * **Times** are readings of this process's local clock in nanoseconds; those of records have an error of at
 * most `stamps_wrong_ns`, which is added to every bound. Clock points convert them: between two points the
 * shared time is the linear interpolation, and its error is at most the linear interpolation of the bounds
 * plus wander × d² / 8, where d is the distance of the points (0 if both bounds are 0 and `is_shared` is set
 * at both: the rank reads the same physical clock as the reference process). Before the first and after the
 * last point, `rate` of that point holds, and the bound grows by `drift_limit` × distance (not if
 * `is_shared`). Points are not ordered by time: a later synchronisation also writes points of earlier times.
 * Of points with the same local_ns, the last one is valid; a point with `replaces_before` set makes all
 * points of earlier definitions invalid.
 */
#ifndef OFFBEAT_TRACE_FORMAT_H
#define OFFBEAT_TRACE_FORMAT_H

#include <stdint.h>

/** The first eight bytes of the file. */
#define OFFBEAT_TRACE_MAGIC "OFFBEATT"

enum {
    OFFBEAT_TRACE_VERSION = 5,
    OFFBEAT_TRACE_PAGE_BYTES = 65536,
    OFFBEAT_TRACE_PAGE_HEADER_BYTES = 64,
    OFFBEAT_TRACE_PAGE_WORDS = (OFFBEAT_TRACE_PAGE_BYTES - OFFBEAT_TRACE_PAGE_HEADER_BYTES) / 8, /* 8184 */
    OFFBEAT_TRACE_RECORD_BYTES = 72,
    OFFBEAT_TRACE_RECORDS_A_PAGE =
        (OFFBEAT_TRACE_PAGE_BYTES - OFFBEAT_TRACE_PAGE_HEADER_BYTES) / OFFBEAT_TRACE_RECORD_BYTES, /* 909 */
    OFFBEAT_TRACE_MESSAGE_BYTES = 64,
    OFFBEAT_TRACE_MESSAGES_A_PAGE =
        (OFFBEAT_TRACE_PAGE_BYTES - OFFBEAT_TRACE_PAGE_HEADER_BYTES) / OFFBEAT_TRACE_MESSAGE_BYTES /* 1023 */
};

/** `state` of the header: how the process ended. */
enum {
    OFFBEAT_TRACE_RUNNING = 0,   /**< it still runs, or was killed, or called _exit */
    OFFBEAT_TRACE_FINALIZED = 1, /**< by MPI_Finalize: the file is complete */
    OFFBEAT_TRACE_EXITED = 2,    /**< by exit or the end of main, without MPI_Finalize */
    OFFBEAT_TRACE_ABORTED = 3    /**< by MPI_Abort */
};

/** Page 0. Strings are zero-terminated, and truncated if they are too long. Byte offsets at the left. */
typedef struct offbeat_trace_header {
    /*    0 */ char magic[8];
    /*    8 */ uint32_t version;
    /*   12 */ uint32_t page_bytes, page_header_bytes, record_bytes;
    /*   24 */ int32_t rank, size; /**< in MPI_COMM_WORLD */
    /*   32 */ uint64_t run;       /**< the same on all ranks of a run, different in every run */
    /*   40 */ int64_t pid;
    /*   48 */ int64_t began_ns;      /**< local clock, as MPI_Init returned */
    /*   56 */ int64_t began_unix_ns; /**< the same instant by this node's CLOCK_REALTIME */
    /*   64 */ double drift_limit;    /**< maximum difference of two clocks' rates, in seconds per second */
    /*   72 */ double wander;         /**< maximum change of that difference, in 1/ns */
                                      /* The following members change while the program runs. */
    /*   80 */ uint32_t state;
    /*   84 */ uint32_t lanes;       /**< used so far */
    /*   88 */ int64_t ended_ns;     /**< local clock; 0 while OFFBEAT_TRACE_RUNNING */
    /*   96 */ uint64_t pages;       /**< allocated so far, including this one */
    /*  104 */ uint64_t lost_count;  /**< records and messages that were not written (limit, disk full) */
    /*  112 */ int32_t lost_because; /**< 0; an errno value (ENOSPC); -1: OFFBEAT_TRACE_BYTES was reached */
    /*  116 */ uint32_t period;      /**< every n-th collective of a communicator is recorded; 1: all */
    /*  120 */ uint64_t bytes_limit; /**< OFFBEAT_TRACE_BYTES; 0: none */
    /*  128 */ int64_t stamps_wrong_ns; /**< maximum error of the times of records */
    /*  136 */ uint32_t has_messages;   /**< 1: point-to-point calls were recorded (OFFBEAT_TRACE_MESSAGES) */
    /*  140 */ uint32_t reserved_word;
    /*  144 */ uint64_t checksum;       /**< of the members that do not change */
    /*  152 */ uint64_t state_checksum; /**< of state, lanes, ended_ns, pages, lost, lost_because and
                                             stamps_wrong_ns as seven words */
    /*  160 */ uint64_t zero[12];       /**< reserved */
    /*  256 */ char host[256];
    /*  512 */ char program[1024];  /**< path of the executable */
    /* 1536 */ char library[1024];  /**< first line of MPI_Get_library_version */
    /* 2560 */ char source[64];     /**< name of the local clock, "CLOCK_MONOTONIC" */
    /* 2624 */ char sampling[1408]; /**< environment variables, "OFFBEAT_TRACE_EVERY=10 ..."; may be empty */
} offbeat_trace_header;

/** `kind` of a page. */
enum {
    OFFBEAT_TRACE_NOTHING = 0,
    OFFBEAT_TRACE_RECORDS = 1,
    OFFBEAT_TRACE_DEFINITIONS = 2,
    OFFBEAT_TRACE_MESSAGES = 3,
    OFFBEAT_TRACE_ENCODED = 4
};

/** The beginning of a page. */
typedef struct offbeat_trace_page {
    uint32_t kind;
    uint32_t lane; /**< of a page of records or messages, from 0 */
    /** Bits 0 to 12: how many words were written from the first one on; 13 to 23: the number of templates;
     * the others: the checksum. */
    uint64_t published_words;
    uint64_t before_poll; /**< `published_words` before the last message, if that is an OFFBEAT_TRACE_POLL */
    int64_t origin_ns;    /**< of encoded records */
    uint64_t zero[4];
} offbeat_trace_page;

enum {
    OFFBEAT_TRACE_TEMPLATES_SHIFT = 13,
    OFFBEAT_TRACE_CHECKSUM_SHIFT = 24,
    /* Indices of the words of a checksum that are not behind the header of the page. */
    OFFBEAT_TRACE_KIND_WORD = OFFBEAT_TRACE_PAGE_WORDS,
    OFFBEAT_TRACE_ORIGIN_WORD,
    OFFBEAT_TRACE_RUN_WORD,
    OFFBEAT_TRACE_PLACE_WORD
};

/** Numbers of entries. */
enum {
    OFFBEAT_TRACE_MOST_TEMPLATES = 1000, /**< of a page */
    OFFBEAT_TRACE_TIMES = 1001,    /**< 27 bits to put above those of enter_ns, 27 above those of exit_ns; the
                                      numbers that result have 55 and 53 bits, in two's complement */
    OFFBEAT_TRACE_SEQUENCE = 1002, /**< sequence */
    OFFBEAT_TRACE_ROUND = 1003,    /**< round */
    OFFBEAT_TRACE_SIZE = 1004,     /**< bytes */
    OFFBEAT_TRACE_LARGEST = 1005,  /**< largest_bytes */
    OFFBEAT_TRACE_BLOCKS = 1006,   /**< 27 bits blocks, 27 bits empty_blocks */
    OFFBEAT_TRACE_NUMBER_BITS = 10,
    OFFBEAT_TRACE_ENTER_BITS = 28,
    OFFBEAT_TRACE_DURATION_BITS = 26,
    OFFBEAT_TRACE_HALF_BITS = 27
};

/** What records of a page have in common. */
typedef struct offbeat_trace_template {
    uint64_t address;
    uint64_t bytes, largest_bytes;
    uint32_t communicator, advance, round;
    int32_t root;
    uint32_t blocks, empty_blocks;
    uint16_t function, datatype, operation, flags;
} offbeat_trace_template;

enum { OFFBEAT_TRACE_TEMPLATE_WORDS = sizeof(offbeat_trace_template) / 8 };

/** `flags` of a record or a message. */
enum {
    /** Bits 0 and 1: the phase of the call. */
    OFFBEAT_TRACE_PHASE = 3,
    OFFBEAT_TRACE_CALL =
        0, /**< a complete blocking call; of a persistent one its initialisation (MPI_*_init) */
    OFFBEAT_TRACE_ISSUE =
        1, /**< of a nonblocking call: MPI_I*; its completion has the same sequence and round */
    OFFBEAT_TRACE_START = 2, /**< of a persistent call: MPI_Start, MPI_Startall */
    OFFBEAT_TRACE_COMPLETION =
        3, /**< MPI_Wait*, a successful MPI_Test*, or MPI_Request_free of an active request */
    OFFBEAT_TRACE_IN_PLACE = 1 << 2,
    OFFBEAT_TRACE_COMMUTES = 1 << 3, /**< the operation is commutative */
    OFFBEAT_TRACE_LARGE = 1 << 4,    /**< the variant with MPI_Count (MPI_*_c) */
    OFFBEAT_TRACE_FAILED = 1 << 5,   /**< it did not return MPI_SUCCESS */
    OFFBEAT_TRACE_FORTRAN =
        1 << 6, /**< called through a Fortran binding; address is in the Fortran program */
    OFFBEAT_TRACE_ANY_SOURCE = 1 << 7, /**< of a receive: posted with MPI_ANY_SOURCE */
    OFFBEAT_TRACE_ANY_TAG = 1 << 8,    /**< of a receive: posted with MPI_ANY_TAG */
    OFFBEAT_TRACE_CANCELLED = 1 << 9,  /**< of a completion: no message was sent or received */
    /** The same call also wrote messages (of a record) or records (of a message) before this one: its time is
     * that of those. */
    OFFBEAT_TRACE_SHARED = 1 << 10,
    /** Bits 12 to 15 of a completion: OFFBEAT_TRACE_BY_WAIT and so on. */
    OFFBEAT_TRACE_BY_SHIFT = 12
};

/** The function that completed a request. */
enum {
    OFFBEAT_TRACE_BY_NONE = 0,
    OFFBEAT_TRACE_BY_WAIT = 1,
    OFFBEAT_TRACE_BY_WAITALL = 2,
    OFFBEAT_TRACE_BY_WAITANY = 3,
    OFFBEAT_TRACE_BY_WAITSOME = 4,
    OFFBEAT_TRACE_BY_TEST = 5,
    OFFBEAT_TRACE_BY_TESTALL = 6,
    OFFBEAT_TRACE_BY_TESTANY = 7,
    OFFBEAT_TRACE_BY_TESTSOME = 8,
    OFFBEAT_TRACE_BY_FREE = 9 /**< MPI_Request_free: the time of completion is unknown */
};

/**
 * A call, or a phase of one.
 *
 * `bytes` is the size of the collective as in studies: of MPI_Bcast, reductions and scans the whole vector;
 * of MPI_Gather, MPI_Scatter, MPI_Allgather, MPI_Alltoall, their neighbourhood variants and
 * MPI_Reduce_scatter_block one block, from one process to one other; of MPI_Reduce_scatter, Alltoallv and
 * Alltoallw what this process sends to all; of MPI_Gatherv and Allgatherv what it sends, of MPI_Scatterv what
 * it receives. 0 for a barrier and for constructors of communicators.
 *
 * A completion has the times and the address of the completing call; the other members are those of the
 * issue.
 *
 * `blocks` are what this process sends to each process (neighbour) in the v and w forms of alltoall and
 * neighbor_alltoall, and receives from each in those of allgather and neighbor_allgather; of
 * MPI_Reduce_scatter the blocks of all processes; of MPI_Gatherv and MPI_Scatterv, at the root alone, what it
 * receives and sends.
 */
typedef struct offbeat_trace_record {
    /*  0 */ int64_t enter_ns, exit_ns; /**< local clock */
    /* 16 */ uint64_t address;          /**< the return address, in an offbeat_trace_mapping; with
                                             OFFBEAT_TRACE_IS_PATH the id of an offbeat_trace_path */
    /* 24 */ uint64_t bytes;
    /* 32 */ uint32_t communicator; /**< id of its definition */
    /* 36 */ uint32_t sequence;     /**< of this call on the communicator, from 0 */
    /* 40 */ uint32_t round; /**< 0; of starts of a persistent request and their completions 1, 2, ... */
    /* 44 */ int32_t root;   /**< rank in the communicator (in the remote group of an inter-communicator); -1:
                                none. In the   root's group of an inter-communicator -3 (MPI_ROOT) or -2
                                (MPI_PROC_NULL), in all   libraries */
    /* 48 */ uint16_t function;  /**< id of its definition; 0: the record was not written */
    /* 50 */ uint16_t datatype;  /**< id of its definition; 0: none */
    /* 52 */ uint16_t operation; /**< id of its definition; 0: none */
    /* 54 */ uint16_t flags;
    /* 56 */ uint64_t largest_bytes;        /**< of the blocks of different sizes that are counted here */
    /* 64 */ uint32_t blocks, empty_blocks; /**< their number, and how many of them have no bytes; 0 and 0 of
                                                 collectives with equal blocks, and where the process does
                                                 not know the counts */
} offbeat_trace_record;

/** `kind` of a message: what the call does. */
enum {
    OFFBEAT_TRACE_SEND = 1,                /**< MPI_Send, MPI_Isend, MPI_Send_init, ... in any mode */
    OFFBEAT_TRACE_RECEIVE = 2,             /**< MPI_Recv, MPI_Irecv, MPI_Recv_init, ... */
    OFFBEAT_TRACE_PARTITIONED_SEND = 3,    /**< MPI_Psend_init, its starts and completions */
    OFFBEAT_TRACE_PARTITIONED_RECEIVE = 4, /**< MPI_Precv_init, its starts and completions */
    OFFBEAT_TRACE_READY = 5,               /**< MPI_Pready, MPI_Pready_range, MPI_Pready_list */
    OFFBEAT_TRACE_ARRIVED = 6,             /**< MPI_Parrived that returned true */
    OFFBEAT_TRACE_PROBE = 7,               /**< MPI_Probe, or MPI_Iprobe that found a message */
    OFFBEAT_TRACE_REQUESTS = 8, /**< a call on requests for which nothing else was written: MPI_Wait of
                                   requests of other kinds, of null or inactive requests; MPI_Cancel;
                                   MPI_Request_free; and MPI_Mrecv of a message that was probed unrecorded */
    OFFBEAT_TRACE_POLL = 9,     /**< consecutive calls that found nothing: MPI_Test* and MPI_I(m)probe */
    OFFBEAT_TRACE_MARK = 10     /**< MPI_Pcontrol */
};

/** Values of `peer` and `tag` of a message. */
enum {
    OFFBEAT_TRACE_UNKNOWN = -1,       /**< a wildcard that no status has resolved yet; or there is none */
    OFFBEAT_TRACE_PEER_PROC_NULL = -2 /**< MPI_PROC_NULL: there is no message; in all libraries */
};

/**
 * A call of point-to-point or partitioned communication, or a phase of one. MPI_Sendrecv is two messages with
 * the same times, a send and a receive; a call that completes several requests, or marks several partitions
 * as ready, is one message for each of them. Messages of the same call have the same times. The
 * initialisation of a persistent request, and MPI_Imrecv, are messages of phase CALL with a request: they
 * post nothing.
 *
 * `bytes` is the size of the message (of all partitions, or of the one that READY and ARRIVED are about); of
 * a receive that was posted the size of its buffer, and of a receive that is complete (a blocking call, or a
 * completion) what it received by its status. The size of an element is that of the datatype's definition.
 *
 * A completion has the times and the address of the completing call; the other members are those of the
 * issue, except that peer, tag and bytes of a receive are those of its status. The completion of a receive
 * that a probe found has the function of the probe.
 *
 * A PROBE has peer, tag and bytes of the message that was found. A POLL is all calls of the same function at
 * the same place that follow each other within 100 microseconds, with nothing else recorded between them:
 * from the first one's enter_ns to the last one's exit_ns. Its `bytes` is the time in these calls, in
 * nanoseconds, and its `partition` their number. The `tag` of a MARK is the level of MPI_Pcontrol. REQUESTS,
 * POLL and MARK have communicator 0.
 */
typedef struct offbeat_trace_message {
    /*  0 */ int64_t enter_ns, exit_ns; /**< local clock */
    /* 16 */ uint64_t address;          /**< as in a record */
    /* 24 */ uint64_t bytes;
    /* 32 */ uint32_t communicator; /**< id of its definition; 0: none */
    /* 36 */ uint32_t request; /**< number of the request in this file, from 1; 0: none (a blocking call) */
    /* 40 */ uint32_t round;   /**< 0; of starts of a persistent request, and what follows them, 1, 2, ... */
    /* 44 */ int32_t peer;     /**< rank in the communicator (in the remote group of an inter-communicator):
                                  the destination of a send, the source of a receive */
    /* 48 */ int32_t tag;
    /* 52 */ int32_t partition; /**< of READY and ARRIVED the partition, from 0; of the other partitioned
                                   kinds the number of partitions; of a POLL the number of calls. Of a SEND or
                                   RECEIVE: how many messages with the same communicator, kind, peer and tag
                                   were left out (by a window or a pause) since the last one with them that
                                   was recorded. It is stated once: of a receive with a wildcard, and of a
                                   request whose issue is not recorded, by the completion */
    /* 56 */ uint16_t function; /**< id of its definition; 0: the message was not written */
    /* 58 */ uint16_t datatype; /**< id of its definition; 0: none */
    /* 60 */ uint16_t kind;     /**< OFFBEAT_TRACE_SEND and so on */
    /* 62 */ uint16_t flags;
} offbeat_trace_message;

/** Kinds of definitions. */
enum {
    OFFBEAT_TRACE_FUNCTION = 1,
    OFFBEAT_TRACE_COMMUNICATOR = 2,
    OFFBEAT_TRACE_MEMBERS = 3,
    OFFBEAT_TRACE_COMMUNICATOR_NAME = 4,
    OFFBEAT_TRACE_COMMUNICATOR_END = 5,
    OFFBEAT_TRACE_DATATYPE = 6,
    OFFBEAT_TRACE_OPERATION = 7,
    OFFBEAT_TRACE_MAPPING = 8,
    OFFBEAT_TRACE_CLOCK_POINT = 9,
    OFFBEAT_TRACE_NOTE = 10,
    OFFBEAT_TRACE_PATH = 11
};

/** The beginning of every definition. */
typedef struct offbeat_trace_definition {
    uint32_t bytes; /**< including this beginning and the zeros at the end; a multiple of 8 */
    uint16_t kind;  /**< 0: the definition was not written; written last */
    uint16_t zero;
} offbeat_trace_definition;

/** `mode` of a function. */
enum {
    OFFBEAT_TRACE_BLOCKING = 0,
    OFFBEAT_TRACE_NONBLOCKING = 1,
    OFFBEAT_TRACE_PERSISTENT = 2,
    OFFBEAT_TRACE_CONSTRUCTOR = 3 /**< of a communicator; also MPI_Comm_free and MPI_Comm_disconnect */
};

/** A function; all of them are defined at the beginning of the file. */
typedef struct offbeat_trace_function {
    offbeat_trace_definition definition;
    uint16_t id;         /**< from 1; it differs between versions of the tracer: identify functions by name */
    uint16_t mode;       /**< OFFBEAT_TRACE_BLOCKING and so on */
    uint16_t collective; /**< id of the blocking variant, for MPI_Ibcast that of MPI_Bcast and for MPI_Isend
                            that of MPI_Send; else its own id */
    uint16_t name_bytes;
    /* char name[name_bytes]: "MPI_Iallreduce", not zero-terminated */
} offbeat_trace_function;

/**
 * A communicator. (hash, ordinal) is the same at all its processes and unique, except that threads which
 * concurrently create communicators of the same processes may number them differently.
 */
typedef struct offbeat_trace_communicator {
    offbeat_trace_definition definition;
    uint32_t id;      /**< in this file, from 1; 1 is MPI_COMM_WORLD, 2 is MPI_COMM_SELF */
    uint32_t parent;  /**< id of the communicator it was created from; 0: none, or unknown */
    uint64_t hash;    /**< of the processes' world ranks in order; of an inter-communicator's groups, the one
                         with the    lowest world rank comes first */
    uint32_t ordinal; /**< among communicators with that hash, in the order of creation, from 0 */
    uint32_t size;    /**< of the local group */
    uint32_t remote_size; /**< of an inter-communicator's remote group; else 0 */
    int32_t rank;         /**< of this process in the local group */
    uint16_t maker;       /**< id of the function that created it; 0: none, or unknown */
    uint16_t topology;    /**< 0: none, 1: cartesian, 2: graph, 3: distributed graph */
    uint32_t zero;
    int64_t made_ns; /**< local clock */
} offbeat_trace_communicator;

/**
 * Processes of a communicator: world ranks (-1: a process of another MPI_COMM_WORLD) from rank `first`. Only
 * the file of the first process that is traced has them.
 */
typedef struct offbeat_trace_members {
    offbeat_trace_definition definition;
    uint32_t communicator;
    uint32_t is_remote; /**< 1: of the remote group of an inter-communicator */
    uint32_t first, count;
    /* int32_t world_ranks[count] */
} offbeat_trace_members;

/** The name of a communicator (MPI_Comm_set_name); the last one is valid. */
typedef struct offbeat_trace_communicator_name {
    offbeat_trace_definition definition;
    uint32_t communicator, name_bytes;
    /* char name[name_bytes] */
} offbeat_trace_communicator_name;

/** A communicator was freed. */
typedef struct offbeat_trace_communicator_end {
    offbeat_trace_definition definition;
    uint32_t communicator, zero;
    int64_t ended_ns;
    uint64_t sequences; /**< the number of calls on it, recorded or not */
} offbeat_trace_communicator_end;

/** A datatype. */
typedef struct offbeat_trace_datatype {
    offbeat_trace_definition definition;
    uint16_t id; /**< from 1 */
    uint16_t is_derived;
    uint32_t name_bytes;
    uint64_t size_bytes;
    /* char name[name_bytes]: "MPI_DOUBLE"; empty for a derived datatype without a name */
} offbeat_trace_datatype;

/** An operation. */
typedef struct offbeat_trace_operation {
    offbeat_trace_definition definition;
    uint16_t id;       /**< from 1 */
    uint16_t is_own;   /**< 1: created by MPI_Op_create */
    uint16_t commutes; /**< 1: it is commutative */
    uint16_t name_bytes;
    /* char name[name_bytes]: "MPI_SUM"; empty for one created by MPI_Op_create */
} offbeat_trace_operation;

/** Code in memory: the addresses from `start` to `end` (exclusive) are those of `path` from `offset`. */
typedef struct offbeat_trace_mapping {
    offbeat_trace_definition definition;
    uint64_t start, end, offset;
    uint32_t path_bytes, zero;
    /* char path[path_bytes]; "[vdso]" and the like if there is no file */
} offbeat_trace_mapping;

/** An instant on both clocks; see the top of this file. */
typedef struct offbeat_trace_clock_point {
    offbeat_trace_definition definition;
    int64_t local_ns, shared_ns, bound_ns;
    double rate;              /**< of the shared against the local clock, minus 1, around this instant */
    uint32_t is_shared;       /**< 1: both are the same physical clock */
    uint32_t replaces_before; /**< 1: points of earlier definitions are invalid */
} offbeat_trace_clock_point;

/** Set in the `address` of a record that is the id of a call path. No address of a process has this bit. */
#define OFFBEAT_TRACE_IS_PATH (UINT64_C(1) << 63)

/**
 * A call path: the return addresses of the call and of its callers, innermost first; and in a Python program
 * the Python frames, innermost first, as three lines each: file, line number, function. Paths are truncated
 * at OFFBEAT_TRACE_DEPTH. In the trace of a simulated program, a path is one such frame without addresses:
 * program file, line and name of the phase.
 */
typedef struct offbeat_trace_path {
    offbeat_trace_definition definition;
    uint32_t id; /**< from 1 */
    uint16_t address_count, python_count;
    uint32_t text_bytes, zero;
    /* uint64_t addresses[address_count]; char text[text_bytes]: "file\nline\nfunction\n" for each frame */
} offbeat_trace_path;

/** A message about the trace for its reader, such as why recording stopped. The note "memory domain 3" says
 * in which memory domain the rank runs, numbered over all nodes; traces of simulated programs have it. */
typedef struct offbeat_trace_note {
    offbeat_trace_definition definition;
    int64_t at_ns; /**< local clock */
    uint32_t text_bytes, zero;
    /* char text[text_bytes] */
} offbeat_trace_note;

#endif
