/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file format.h
 * The file that the tracer writes, version 2: one a rank, `rank-000003.trace` in the trace's folder.
 *
 * All numbers are little-endian; all structures are as they lie in memory on a 64-bit machine, without holes
 * that matter. The file is a sequence of pages of OFFBEAT_TRACE_PAGE_BYTES. Page 0 is the header. Every other
 * page begins with an offbeat_trace_page, whose `kind` says what follows it:
 *
 *   - OFFBEAT_TRACE_NOTHING: the page isn't in use. Pages in use come before pages that are not, except where
 * a process was killed just as it took one; so a reader looks at all of them. The file may end with pages of
 *     zeros, or in the middle of a page if something cut it off: what is there can be read.
 *   - OFFBEAT_TRACE_RECORDS: OFFBEAT_TRACE_RECORDS_A_PAGE records of one lane. They are filled from the first
 * on. A record whose `function` is 0 hasn't been written (or was being written when the process was killed).
 *   - OFFBEAT_TRACE_DEFINITIONS: definitions, one after the other, each an offbeat_trace_definition, what
 * belongs to its kind, and zeros up to a multiple of 8 bytes. One whose `kind` is 0 ends the page.
 * Definitions stand in the order in which they were made, and one is written before the first record that
 * needs it; but pages of both kinds alternate, so that a reader takes all definitions first.
 *
 * The file is written through a shared mapping: whatever stands in it survives the end of the process,
 * however it ends. `kind` of a definition and `function` of a record are written last, after all else of it.
 *
 * **Lanes.** Threads write records at the same time, each into pages of a lane of its own. Records of a lane
 * stand in the order in which the calls returned, and calls of a lane never overlap. A thread that ends
 * leaves its lane to the next one.
 *
 * **Matching ranks.** Calls of one collective on several ranks have the same key (communicator, sequence,
 * round), where communicators are matched by (hash, ordinal) of their definitions. The sequence counts what
 * the members of a communicator do in the same order, also calls that sampling leaves out; the round tells
 * the starts of a persistent collective from each other, which need not be in the same order among several.
 *
 * **Times** are readings of this process's local clock in nanoseconds; those of records are at most
 * `stamps_wrong_ns` beside it, which comes on top of every bound. Clock points convert them: between two
 * points the shared time is the line through both, and it is wrong by at most the line through both bounds,
 * plus wander × d² / 8, where d is the distance of the points (0 where both bounds are 0 and `is_shared` is
 * set at both: the rank reads the reference's own physical clock). Before the first and after the last point,
 * `rate` of that point holds, and the bound grows by `drift_limit` × distance (not at all where `is_shared`).
 * Points are not in order of time: those of a later sync also say anew what earlier times were. Of points
 * with the same local_ns, the last one counts; a point with `replaces_before` set makes all points of earlier
 * definitions invalid.
 */
#ifndef OFFBEAT_TRACE_FORMAT_H
#define OFFBEAT_TRACE_FORMAT_H

#include <stdint.h>

/** The first eight bytes of the file. */
#define OFFBEAT_TRACE_MAGIC "OFFBEATT"

enum {
    OFFBEAT_TRACE_VERSION = 2,
    OFFBEAT_TRACE_PAGE_BYTES = 65536,
    OFFBEAT_TRACE_PAGE_HEADER_BYTES = 64,
    OFFBEAT_TRACE_RECORD_BYTES = 56,
    OFFBEAT_TRACE_RECORDS_A_PAGE =
        (OFFBEAT_TRACE_PAGE_BYTES - OFFBEAT_TRACE_PAGE_HEADER_BYTES) / OFFBEAT_TRACE_RECORD_BYTES /* 1169 */
};

/** How a traced process ended; `state` of the header. */
enum {
    OFFBEAT_TRACE_RUNNING = 0,   /**< still does, or was killed, or called _exit */
    OFFBEAT_TRACE_FINALIZED = 1, /**< in MPI_Finalize: the file is whole */
    OFFBEAT_TRACE_EXITED = 2,    /**< by exit or the end of main, without MPI_Finalize */
    OFFBEAT_TRACE_ABORTED = 3    /**< by MPI_Abort */
};

/** Page 0. Texts end with a zero; texts that are too long lose their end. Offsets in bytes at the left. */
typedef struct offbeat_trace_header {
    /*    0 */ char magic[8];
    /*    8 */ uint32_t version;
    /*   12 */ uint32_t page_bytes, page_header_bytes, record_bytes;
    /*   24 */ int32_t rank, size; /**< in MPI_COMM_WORLD */
    /*   32 */ uint64_t run;       /**< the same on all ranks of a run, another one in the next run */
    /*   40 */ int64_t pid;
    /*   48 */ int64_t began_ns;      /**< local clock, as MPI_Init returned */
    /*   56 */ int64_t began_unix_ns; /**< the same moment since 1970, as this node's calendar has it */
    /*   64 */ double drift_limit;    /**< how fast two clocks run apart at most, in seconds a second */
    /*   72 */ double wander;         /**< how much that rate changes at most, in 1/ns */
                                      /* What follows changes while the program runs. */
    /*   80 */ uint32_t state;
    /*   84 */ uint32_t lanes;       /**< that were used so far */
    /*   88 */ int64_t ended_ns;     /**< local clock; 0 while OFFBEAT_TRACE_RUNNING */
    /*   96 */ uint64_t pages;       /**< taken so far, this one included */
    /*  104 */ uint64_t lost;        /**< records that found no room (budget, full disk) */
    /*  112 */ int32_t lost_because; /**< 0; an errno value (ENOSPC); -1: OFFBEAT_TRACE_BYTES was reached */
    /*  116 */ uint32_t every;       /**< every so many-th call of a communicator is recorded; 1: all */
    /*  120 */ uint64_t bytes_limit; /**< OFFBEAT_TRACE_BYTES; 0: none */
    /*  128 */ int64_t stamps_wrong_ns; /**< how far times of records may be off the local clock */
    /*  136 */ int64_t zero[15];        /**< for later versions */
    /*  256 */ char host[256];
    /*  512 */ char program[1024]; /**< path of the executable */
    /* 1536 */ char library[1024]; /**< first line of MPI_Get_library_version */
    /* 2560 */ char source[64];    /**< name of the local clock, "CLOCK_MONOTONIC" */
    /* 2624 */ char
        sampling[1408]; /**< the environment's wishes, "OFFBEAT_TRACE_EVERY=10 ..."; may be empty */
} offbeat_trace_header;

/** What a page holds. */
enum { OFFBEAT_TRACE_NOTHING = 0, OFFBEAT_TRACE_RECORDS = 1, OFFBEAT_TRACE_DEFINITIONS = 2 };

/** The beginning of a page. */
typedef struct offbeat_trace_page {
    uint32_t kind;
    uint32_t lane; /**< of records; from 0 on */
    uint64_t zero[7];
} offbeat_trace_page;

/** `flags` of a record. */
enum {
    /** Bits 0 and 1: which moment of a call it is. */
    OFFBEAT_TRACE_PHASE = 3,
    OFFBEAT_TRACE_CALL =
        0, /**< all of a blocking call; of a persistent one: its initialisation (MPI_*_init) */
    OFFBEAT_TRACE_ISSUE = 1, /**< of a nonblocking call: MPI_I*; sequence and round as its completion's */
    OFFBEAT_TRACE_START = 2, /**< of a persistent call: MPI_Start, MPI_Startall */
    OFFBEAT_TRACE_COMPLETION = 3, /**< MPI_Wait*, a successful MPI_Test*, or MPI_Request_free before that */
    OFFBEAT_TRACE_IN_PLACE = 1 << 2,
    OFFBEAT_TRACE_COMMUTES = 1 << 3, /**< the operation does */
    OFFBEAT_TRACE_LARGE = 1 << 4,    /**< the variant with MPI_Count (MPI_*_c) */
    OFFBEAT_TRACE_FAILED = 1 << 5,   /**< it returned another code than MPI_SUCCESS */
    OFFBEAT_TRACE_FORTRAN =
        1 << 6, /**< called through a Fortran binding; address is in the Fortran program */
    /** Bits 12 to 15 of a completion: by which function, OFFBEAT_TRACE_BY_WAIT and so on. */
    OFFBEAT_TRACE_BY_SHIFT = 12
};

/** By which function a request was completed. */
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
    OFFBEAT_TRACE_BY_FREE = 9 /**< MPI_Request_free: nobody will know when it ended */
};

/**
 * A call, or a moment of one.
 *
 * `bytes` is what studies call the size of a collective: of MPI_Bcast, reductions and scans the whole vector;
 * of MPI_Gather, MPI_Scatter, MPI_Allgather, MPI_Alltoall, their neighbourhood variants and
 * MPI_Reduce_scatter_block one block, what one process has for one other; of MPI_Reduce_scatter, Alltoallv
 * and Alltoallw what this process sends to all; of MPI_Gatherv and Allgatherv what it sends, of MPI_Scatterv
 * what it gets. 0 for a barrier and for constructors of communicators.
 *
 * A completion has enter and exit of the completing call and its address; all else is as at the issue.
 */
typedef struct offbeat_trace_record {
    /*  0 */ int64_t enter_ns, exit_ns; /**< local clock */
    /* 16 */ uint64_t address; /**< to which the call returned; offbeat_trace_mapping tells the file. With
                                    OFFBEAT_TRACE_IS_PATH: the id of an offbeat_trace_path */
    /* 24 */ uint64_t bytes;
    /* 32 */ uint32_t communicator; /**< id of a definition of this file */
    /* 36 */ uint32_t sequence;     /**< of this call on the communicator, from 0 on */
    /* 40 */ uint32_t round;        /**< 0; of starts of a persistent call and their completions: 1, 2, ... */
    /* 44 */ int32_t root; /**< rank in the communicator (remote group of an inter-communicator); -1: none;
                                at an inter-communicator's roots -3 (MPI_ROOT) and beside them -2
                                (MPI_PROC_NULL), in all libraries */
    /* 48 */ uint16_t function;  /**< id of a definition; 0: nothing was written here */
    /* 50 */ uint16_t datatype;  /**< id of a definition; 0: none */
    /* 52 */ uint16_t operation; /**< id of a definition; 0: none */
    /* 54 */ uint16_t flags;
} offbeat_trace_record;

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
    uint32_t bytes; /**< of all of it: this beginning, what follows, the zeros after it; a multiple of 8 */
    uint16_t kind;  /**< 0: nothing was written here; written last */
    uint16_t zero;
} offbeat_trace_definition;

/** `mode` of a function. */
enum {
    OFFBEAT_TRACE_BLOCKING = 0,
    OFFBEAT_TRACE_NONBLOCKING = 1,
    OFFBEAT_TRACE_PERSISTENT = 2,
    OFFBEAT_TRACE_CONSTRUCTOR = 3 /**< of a communicator, or its end (MPI_Comm_free, MPI_Comm_disconnect) */
};

/** A function; all of them stand at the beginning of the file. */
typedef struct offbeat_trace_function {
    offbeat_trace_definition definition;
    uint16_t id;         /**< from 1 on; another one in other versions of the tracer: go by the name */
    uint16_t mode;       /**< OFFBEAT_TRACE_BLOCKING and so on */
    uint16_t collective; /**< id of the blocking function that does the same: of MPI_Ibcast that of MPI_Bcast;
                              its own id otherwise */
    uint16_t name_bytes;
    /* char name[name_bytes]: "MPI_Iallreduce", without a closing zero */
} offbeat_trace_function;

/**
 * A communicator. On all its members (hash, ordinal) is the same, and no other communicator has it, except
 * that threads which make communicators of the same members at the same time may number them differently.
 */
typedef struct offbeat_trace_communicator {
    offbeat_trace_definition definition;
    uint32_t id;      /**< in this file, from 1 on; 1 is MPI_COMM_WORLD, 2 MPI_COMM_SELF */
    uint32_t parent;  /**< id of the one it was made from; 0: none, or not known */
    uint64_t hash;    /**< of the members' world ranks in their order (of both groups, that of world rank's
                           lowest member first) */
    uint32_t ordinal; /**< among communicators with that hash, in the order of creation, from 0 on */
    uint32_t size;    /**< of this process's group */
    uint32_t remote_size; /**< of an inter-communicator's other group; else 0 */
    int32_t rank;         /**< of this process in its group */
    uint16_t maker;       /**< id of the function that made it; 0: none, or not known */
    uint16_t topology;    /**< 0: none, 1: cartesian, 2: graph, 3: distributed graph */
    uint32_t zero;
    int64_t made_ns; /**< local clock */
} offbeat_trace_communicator;

/**
 * Members of a communicator: world ranks (-1: a process of another world) from position `first` on. Written
 * by the first of them that is traced; others' files don't have it.
 */
typedef struct offbeat_trace_members {
    offbeat_trace_definition definition;
    uint32_t communicator;
    uint32_t is_remote; /**< 1: of the other group of an inter-communicator */
    uint32_t first, count;
    /* int32_t world_ranks[count] */
} offbeat_trace_members;

/** The name of a communicator (MPI_Comm_set_name); the last one counts. */
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
    uint64_t sequences; /**< calls on it, recorded or not */
} offbeat_trace_communicator_end;

/** A datatype. */
typedef struct offbeat_trace_datatype {
    offbeat_trace_definition definition;
    uint16_t id; /**< from 1 on */
    uint16_t is_derived;
    uint32_t name_bytes;
    uint64_t size_bytes;
    /* char name[name_bytes]: "MPI_DOUBLE"; empty for a derived one without a name */
} offbeat_trace_datatype;

/** An operation. */
typedef struct offbeat_trace_operation {
    offbeat_trace_definition definition;
    uint16_t id;       /**< from 1 on */
    uint16_t is_own;   /**< 1: made by MPI_Op_create */
    uint16_t commutes; /**< 1: it does */
    uint16_t name_bytes;
    /* char name[name_bytes]: "MPI_SUM"; empty for one of the program's own */
} offbeat_trace_operation;

/** Code in memory: addresses from `start` up to, not including, `end` are `path` from `offset` on. */
typedef struct offbeat_trace_mapping {
    offbeat_trace_definition definition;
    uint64_t start, end, offset;
    uint32_t path_bytes, zero;
    /* char path[path_bytes]; "[vdso]" and such where there is no file */
} offbeat_trace_mapping;

/** A moment on both clocks; see the top of this file. */
typedef struct offbeat_trace_clock_point {
    offbeat_trace_definition definition;
    int64_t local_ns, shared_ns, bound_ns;
    double rate;              /**< of the shared against the local clock, minus 1, around this moment */
    uint32_t is_shared;       /**< 1: both are the same physical clock */
    uint32_t replaces_before; /**< 1: points of earlier definitions no longer count */
} offbeat_trace_clock_point;

/** Set in the `address` of a record that is the id of a call path. No address of a process has this bit. */
#define OFFBEAT_TRACE_IS_PATH (UINT64_C(1) << 63)

/**
 * A call path: the address to which the call returned, those to which its callers return, innermost first;
 * and in a Python program the frames of Python, innermost first, in three lines each: file, line number,
 * function. Paths are cut off at the depth that was asked for.
 */
typedef struct offbeat_trace_path {
    offbeat_trace_definition definition;
    uint32_t id; /**< from 1 on */
    uint16_t address_count, python_count;
    uint32_t text_bytes, zero;
    /* uint64_t addresses[address_count]; char text[text_bytes]: "file\nline\nfunction\n" for each frame */
} offbeat_trace_path;

/** A sentence about the trace, for people: why recording stopped, which variable was not obeyed. */
typedef struct offbeat_trace_note {
    offbeat_trace_definition definition;
    int64_t at_ns; /**< local clock */
    uint32_t text_bytes, zero;
    /* char text[text_bytes] */
} offbeat_trace_note;

#endif
