/* SPDX-License-Identifier: BSD-3-Clause */
/** @file protocol.c  The table of verbs and keys. Its texts are the page docs/reference/driver.md. */
#include "protocol/protocol.h"

#include <limits.h>
#include <stddef.h>

/* clang-format off */
#define NUMBER(NAME, MINIMUM, MAXIMUM, DEFAULT, MEANING) \
    {NAME, OFFBEAT_NUMBER, MINIMUM, MAXIMUM, NULL, DEFAULT, NULL, MEANING}
#define NUMBERS(NAME, MAXIMUM, DEFAULT, IF_MISSING, MEANING) \
    {NAME, OFFBEAT_NUMBERS, 0, MAXIMUM, NULL, DEFAULT, IF_MISSING, MEANING}
#define TEXT(NAME, DEFAULT, IF_MISSING, MEANING) \
    {NAME, OFFBEAT_TEXT, 0, 0, NULL, DEFAULT, IF_MISSING, MEANING}
#define CHOICE(NAME, CHOICES, DEFAULT, MEANING) \
    {NAME, OFFBEAT_TEXT, 0, 0, CHOICES, DEFAULT, NULL, MEANING}
#define KEYS(...) .keys = (const offbeat_key[]){__VA_ARGS__, {0}}

/* --- keys of several verbs ----------------------------------------------------------------------------- */

#define BYTES NUMBER("bytes", 0, INT64_MAX, "0", \
    "message size: bytes per process as the MPI call states it, or of one message")
#define MESSAGE_BYTES NUMBER("bytes", 0, INT_MAX, "0", "size of one message or of one piece of work, in bytes")
#define ROOT NUMBER("root", 0, INT_MAX, "0", "root of a rooted collective")
#define CALL_OF(COLLECTIVE) COLLECTIVE, BYTES, \
    TEXT("datatype", "double", NULL, \
         "element type; `odd`, `wide` and `gapped` are derived ones: for the check"), \
    TEXT("op", "sum", NULL, \
         "reduction operation; `affine`, with the datatype of that name, does not commute, and `user_sum` is a" \
         " user-defined sum of `double` or `gapped`: for the check"), \
    ROOT
#define COLLECTIVE TEXT("collective", NULL, NULL, "the collective, by its MPI name in lower case")
#define CALL CALL_OF(COLLECTIVE)
#define LAYOUT \
    NUMBER("communicators", 1, INT_MAX, "1", \
           "number of communicators of equal size that call at the same time; it divides the number of processes"), \
    NUMBER("stride", 1, INT_MAX, "1", \
           "distance between the ranks of consecutive members of a communicator; it divides the number of" \
           " communicators")
#define REPETITIONS NUMBER("repetitions", 1, INT64_MAX, "1", \
    "number of valid repetitions, of starts or of synchronisations")
#define WARMUPS NUMBER("warmups", 0, INT_MAX, "1", "calls or repetitions before the measurement")
#define LIMITS REPETITIONS, \
    NUMBER("attempts", 1, INT64_MAX, "1", "maximum number of repetitions, including invalid ones"), \
    {"duration_ns", OFFBEAT_NUMBER, 0, INT64_MAX, NULL, NULL, "no limit", \
     "start no repetition after this time, in nanoseconds"}, \
    NUMBER("unrecorded", 0, INT64_MAX, "0", \
           "repetitions before the recorded ones, with the same start and delays"), \
    {"tolerance_ns", OFFBEAT_NUMBER, 0, INT64_MAX, NULL, NULL, "no limit", \
     "tolerance for the lateness of a process plus the error bound of its clock, in nanoseconds"}, \
    NUMBER("tolerance_bounds", 0, 1000000, "0", \
           "the tolerance in error bounds of the worst clock at its last synchronisation; the larger of the" \
           " two tolerances holds")
#define DELAY_NS(DEFAULT, MEANING) NUMBER("delay_ns", 1, OFFBEAT_MAX_NS, DEFAULT, MEANING)
#define TRANSFER MESSAGE_BYTES, \
    NUMBER("messages", 1, INT_MAX, "1", "messages, round trips or pieces of work in a repetition"), \
    REPETITIONS, WARMUPS
#define PAIR NUMBER("from", 0, INT_MAX, "0", "the rank that sends, or begins"), \
    NUMBER("to", 0, INT_MAX, "1", "the rank that receives, or answers"), TRANSFER
#define COLD(OCCASION) NUMBER("cold", 0, 1, "0", \
                    "1: before each " OCCASION ", every sender and receiver works through arrays that are larger" \
                    " than its caches, so that no message is in a cache")
#define CLOCK TEXT("source", NULL, "the library's", "time source of the clocks, such as `MPI_Wtime`"), \
    NUMBER("exchanges", 0, INT_MAX, "0", \
           "maximum number of ping-pongs of a process with its reference process in a synchronisation; 0: the" \
           " number of the method")
#define SMPI_CALL(DATATYPE) COLLECTIVE, \
    TEXT("algorithm", "default", NULL, "SMPI's algorithm"), BYTES, ROOT, DATATYPE

#define PERIOD NUMBER("every", 1, INT_MAX, "1", "executed in iterations whose number, from 1, is a multiple of this")

/* --- answers ------------------------------------------------------------------------------------------- */

#define ANSWERS(...) .answers = (const offbeat_answer_key[]){__VA_ARGS__, {0}}
#define A_NUMBER(NAME) {NAME, OFFBEAT_NUMBER, 0}
#define A_NUMBERS(NAME) {NAME, OFFBEAT_NUMBERS, 0}
#define A_TEXT(NAME) {NAME, OFFBEAT_TEXT, 0}
#define A_FLAG(NAME) {NAME, OFFBEAT_FLAG, 0}

static const offbeat_key no_keys[] = {{0}};
static const offbeat_answer_key no_answers[] = {{0}};

/* --- verbs --------------------------------------------------------------------------------------------- */

const offbeat_verb offbeat_verbs[] = {
    {OFFBEAT_DRIVER, "force",
     "`force VAR=VALUE ...`: restores the variables that were set before, sets the given variables on every"
     " process, and re-creates the communicators of the calls under test where the library requires it.",
     .keys = NULL, .answers = no_answers},
    {OFFBEAT_DRIVER, "variables", "`variables regex=R`: the library's control variables.",
     KEYS(TEXT("regex", ".", NULL, "extended regular expression for the names of variables")),
     ANSWERS({"variables", OFFBEAT_VARIABLES, 0})},
    {OFFBEAT_DRIVER, "check",
     "`check collective=...`: calls the collective once and compares its result with the expected one. Answers"
     " the number of wrong elements and the MPI error. The call may be any legal one: on some of the processes,"
     " in place, with other counts, and with null values for the arguments that MPI ignores.",
     KEYS(NUMBER("in_place", 0, 1, "0",
                 "1: MPI_IN_PLACE wherever the standard allows it, at the root of rooted collectives"),
          NUMBER("null_ignored", 0, 1, "0",
                 "1: arguments that MPI ignores on a process are NULL, 0 and MPI_DATATYPE_NULL"),
          CHOICE("counts", "even uneven reversed none", "even",
                 "`even`, `uneven` (0, 1 or 2 times the size, of irregular collectives), `reversed` (blocks in"
                 " descending order with gaps between them, where there are displacements) or `none` (0 for all)"),
          CALL, LAYOUT,
          NUMBERS("members", INT_MAX, NULL, "all",
                  "ranks of the communicator, in this order, separated by commas")),
     ANSWERS(A_NUMBER("wrong"), A_TEXT("error"))},
    {OFFBEAT_DRIVER, "call",
     "`call collective=... members=... send=T elements=N,...`: makes one legal call, on one communicator or on two"
     " that share processes, and checks it against what each process computes by itself. Answers the number of wrong"
     " basic elements, the number of bytes that were written although MPI must not touch them, the number of datatypes"
     " that MPI_Pack or MPI_Unpack misplace as well, and the MPI error."
     " `native/collectives/type_text.h` describes the text of a datatype. Lists by rank are used cyclically.",
     KEYS(COLLECTIVE, NUMBERS("members", INT_MAX, NULL, NULL,
                  "ranks of the communicator, in this order, separated by commas; of one rank it is MPI_COMM_SELF"),
          NUMBERS("next", INT_MAX, NULL, "none",
                  "ranks of another communicator, on which the same call is made immediately afterwards"),
          TEXT("send", NULL, "none, for barrier",
               "datatypes by rank, separated by `/`: of what a rank sends; of alltoallw by the sum of both ranks; the"
               " datatype of a reduction"),
          TEXT("receive", NULL, "as `send`", "datatypes by rank of what a rank receives"),
          NUMBERS("elements", INT_MAX, NULL, "none, for barrier",
                  "basic elements of a block, by rank; of alltoallv and alltoallw by the sender's rank plus `slope` times"
                  " the receiver's rank"),
          NUMBER("slope", 0, INT_MAX, "1", "see `elements`; 1: two ranks send each other the same number"),
          NUMBER("gap", 0, INT_MAX, "0",
                 "extents between blocks, where the call has displacements; of alltoallw multiples of 16 bytes"),
          NUMBER("descending", 0, 1, "0", "1: blocks are in descending order, where the call has displacements"),
          TEXT("op", "sum", NULL,
               "operation of a reduction: a predefined one, or `affine` (not commutative) or `user_sum`, which accept"
               " any datatype"),
          ROOT,
          NUMBER("in_place", 0, 1, "0",
                 "1: MPI_IN_PLACE wherever the standard allows it, at the root of rooted collectives"),
          NUMBER("nulls", 0, 1, "0",
                 "1: arguments that MPI ignores on a process are NULL, 0 and MPI_DATATYPE_NULL; 0: those of a buffer"
                 " that must not be touched")),
     ANSWERS(A_NUMBER("wrong"), A_NUMBER("guards"), A_NUMBER("misplaced"), A_TEXT("error"))},
    {OFFBEAT_DRIVER, "bits",
     "`bits collective=...`: calls a reduction of `double` once, with numbers whose sum depends on the order of its"
     " additions. Answers a digest of the result of each process, by which algorithms are compared that may add in"
     " another order, and the MPI error.",
     KEYS(CALL, LAYOUT), ANSWERS(A_NUMBERS("digests"), A_TEXT("error"))},
    {OFFBEAT_DRIVER, "observe",
     "`observe collective=...`: answers the algorithm functions entered and the messages sent in one call. Of several"
     " communicators, the messages are those of the first one, between its ranks.",
     KEYS(CALL, LAYOUT),
     ANSWERS(A_FLAG("sees_functions"), A_FLAG("sees_messages"), A_TEXT("functions"),
             {"messages", OFFBEAT_ROWS, 0})},
    {OFFBEAT_DRIVER, "measure",
     "`measure collective=... repetitions=N attempts=M duration_ns=S tolerance_ns=T delays=...`: measures the"
     " collective with these delays, and writes the sample file. A repetition is invalid if the lateness of a"
     " process plus the error bound of its clock exceeds the tolerance. With sequence=FILE each repetition has"
     " the delays of one call of FILE; an invalid repetition is repeated with the same call.",
     KEYS(WARMUPS, LIMITS,
          TEXT("sequence", NULL, "none: every repetition has the same delays",
               "file on rank 0's node with one line per call: one delay per rank of a communicator, in nanoseconds,"
               " separated by blanks; replaces `delays`. A relative path is relative to the directory of the sample file"),
          NUMBER("call", 0, INT_MAX, "0", "the first call of the sequence, from 0"),
          NUMBERS("delays", OFFBEAT_MAX_NS, "0", NULL,
                  "one delay per rank of a communicator, in nanoseconds, separated by commas; missing delays are 0"),
          CALL, LAYOUT),
     ANSWERS(A_NUMBER("tried"), A_NUMBER("valid"), {"calls", OFFBEAT_NUMBER, 1}, {"next", OFFBEAT_NUMBER, 1})},
    {OFFBEAT_DRIVER, "partitioned",
     "`partitioned approach=A bytes=N partitions=P threads=T delays=...`: measures a message from rank 0 to rank 1"
     " whose partitions become ready at the start plus their delays, and writes the sample file. Answers also the"
     " number of wrong bytes that the receiver got in all repetitions.",
     KEYS(TEXT("approach", NULL, NULL, "how the message is sent; `approaches` lists the names"),
          NUMBER("bytes", 0, INT_MAX, NULL, "size of the whole message"),
          NUMBER("partitions", 1, 65536, "1", "number of partitions, of equal size"),
          NUMBER("threads", 1, 1024, "1",
                 "threads of the sender; neighbouring partitions belong to the same thread"),
          NUMBERS("delays", OFFBEAT_MAX_NS, "0", NULL,
                  "one delay per partition, in nanoseconds, separated by commas; missing delays are 0"),
          LIMITS),
     ANSWERS(A_NUMBER("tried"), A_NUMBER("valid"), A_NUMBER("wrong"))},
    {OFFBEAT_DRIVER, "approaches", "`approaches`: the approaches of `partitioned` that the library has.",
     .keys = no_keys, ANSWERS({"approaches", OFFBEAT_TEXTS, 0})},
    {OFFBEAT_DRIVER, "fingerprint",
     "`fingerprint collective=... delay_ns=D`: delays one rank after another, by D or twice the duration of an"
     " undelayed call, whichever is longer. Answers which ranks left the call late each time; of several"
     " communicators those of the first one.",
     KEYS(NUMBER("most", 1, INT_MAX, "64", "maximum number of processes that are delayed in turn, evenly spread"),
          DELAY_NS("5000000", "minimum delay of the delayed process, in nanoseconds"), CALL, LAYOUT),
     ANSWERS({"late", OFFBEAT_ROWS, 0})},
    {OFFBEAT_DRIVER, "pingpong",
     "`pingpong from=A to=B bytes=N messages=K`: each repetition is K round trips between two processes. Before each"
     " round trip, both write what they send and read what they received. Answers the duration of the round trips"
     " of each repetition.",
     KEYS(COLD("round trip"), PAIR), ANSWERS(A_NUMBERS("taken_ns"))},
    {OFFBEAT_DRIVER, "late",
     "`late from=A to=B bytes=N delay_ns=D`: each repetition is one message whose receive is posted D after the"
     " send. Answers the durations of both calls: a send that takes less than D did not wait for the receiver.",
     KEYS(DELAY_NS("1000000", "time from the send to the receive, in nanoseconds"), PAIR),
     ANSWERS(A_NUMBERS("send_ns"), A_NUMBERS("receive_ns"))},
    {OFFBEAT_DRIVER, "stream",
     "`stream senders=A,... receivers=B,... bytes=N messages=K`: each repetition is K messages from each sender"
     " to its receiver, all posted at a common start. Answers the time until the last message was received. A"
     " rank may be a sender and a receiver.",
     KEYS(NUMBERS("senders", INT_MAX, NULL, NULL, "the ranks that send, separated by commas"),
          NUMBERS("receivers", INT_MAX, NULL, NULL,
                  "the ranks that receive, one for each sender, separated by commas"),
          COLD("repetition"), TRANSFER),
     ANSWERS(A_NUMBERS("taken_ns"))},
    {OFFBEAT_DRIVER, "local",
     "`local work=reduce bytes=N messages=K`: each repetition is K reductions (sums of doubles) or copies of N"
     " bytes on rank 0. Answers the duration of each repetition.",
     KEYS(CHOICE("work", "reduce copy", "reduce", "`reduce` or `copy`"), TRANSFER),
     ANSWERS(A_NUMBERS("taken_ns"))},
    {OFFBEAT_DRIVER, "work",
     "`work ranks=A,... memory=B flops=F`: each repetition is work that these processes do at a common start:"
     " memory traffic, and operations that overlap with it. Answers the time until the last of them has done it.",
     KEYS(NUMBERS("ranks", INT_MAX, NULL, NULL, "the ranks that work, separated by commas"),
          NUMBER("memory", 0, INT64_MAX, "0", "bytes of memory traffic of each"),
          NUMBER("flops", 0, INT64_MAX, "0", "floating-point operations of each"),
          NUMBER("repetitions", 1, INT_MAX, "1", "number of repetitions"), WARMUPS),
     ANSWERS(A_NUMBERS("taken_ns"))},
    {OFFBEAT_DRIVER, "start",
     "`start by=B collective=...`: N starts, by MPI_Barrier or harmonised, each followed by a collective or by"
     " nothing. Answers for each start the skew between the processes, with the range that the clocks' error"
     " bounds allow; the duration of the collective (sum over the processes, and maximum); and for each process"
     " its median lag after the first process.",
     KEYS(NUMBER("repetitions", 1, INT_MAX / (int)sizeof(int64_t), "1", "number of starts"), WARMUPS,
          CHOICE("by", "barrier harmonize", "harmonize",
                 "`harmonize`, or `barrier`: MPI_Barrier, by the algorithm that is forced"),
          CALL_OF(TEXT("collective", "none", NULL, "the collective, by its MPI name in lower case, or `none`"))),
     ANSWERS(A_NUMBERS("skew_ns"), A_NUMBERS("least_skew_ns"), A_NUMBERS("most_skew_ns"), A_NUMBERS("taken_ns"),
             A_NUMBERS("longest_ns"), A_NUMBERS("last_delay_ns"), A_NUMBERS("verdicts"), A_NUMBERS("lags_ns"))},
    {OFFBEAT_DRIVER, "sync",
     "`sync method=M processes=P`: creates a clock on the first P processes and synchronises it N times. Answers"
     " the duration, the number of ping-pongs and the error bound of each synchronisation.",
     KEYS({"processes", OFFBEAT_NUMBER, 1, INT_MAX, NULL, NULL, "all",
           "number of processes that have the clock, from rank 0"},
          REPETITIONS, TEXT("method", NULL, "the library's", "clock method"), CLOCK),
     ANSWERS(A_FLAG("shared"), A_NUMBERS("taken_ns"), A_NUMBERS("exchanges"), A_NUMBERS("bound_ns"))},
    {OFFBEAT_DRIVER, "accuracy",
     "`accuracy methods=M,... ages=A,...`: in each round synchronises a clock of each method, and compares it"
     " with the clock of rank 0 immediately and at each age. Answers an interval that contains the error of each"
     " comparison, and the clock's own error bound.",
     KEYS(NUMBER("rounds", 1, INT_MAX, "1", "how often clocks are synchronised and compared at every age"),
          TEXT("methods", "constraints", NULL, "clock methods, separated by commas"),
          NUMBERS("ages", OFFBEAT_MAX_NS, NULL, "none",
                  "times since the synchronisation at which clocks are compared, besides immediately after it:"
                  " nanoseconds, separated by commas"),
          CLOCK),
     ANSWERS(A_FLAG("physical"), A_NUMBERS("methods"), A_NUMBERS("rounds"), A_NUMBERS("planned_ns"),
             A_NUMBERS("ages_ns"), A_NUMBERS("low_ns"), A_NUMBERS("high_ns"), A_NUMBERS("bound_ns"),
             A_NUMBERS("ranks"))},
    {OFFBEAT_DRIVER, "hello",
     "`hello`: the version of this protocol, library, clock, binding, the largest lateness in 20 harmonised"
     " starts, and the ccNUMA domain of its node on which each process runs.",
     .keys = no_keys,
     ANSWERS(A_NUMBER("protocol"), A_NUMBER("p"), A_TEXT("family"), A_TEXT("library"), A_TEXT("clock_source"),
             A_NUMBER("clock_resolution_ns"), A_FLAG("clock_shared"), A_NUMBER("clock_bound_ns"),
             A_NUMBER("overshoot_ns"), A_FLAG("switches"), {"places", OFFBEAT_TEXTS, 0}, A_NUMBERS("domains"))},
    {OFFBEAT_DRIVER, "quit", "Ends the program.", .keys = no_keys, .answers = no_answers},

    {OFFBEAT_SMPI, "run",
     "`run collective=... algorithm=... delays=...`: simulates one call whose processes arrive with these delays."
     " Answers the arrival and the exit of each process in seconds since the start, and the CPU time that SMPI"
     " took.",
     KEYS(SMPI_CALL(TEXT("datatype", "byte", NULL, "element type")),
          TEXT("op", NULL, "`sum` for floating-point types, else `bor`", "reduction operation"),
          {"delays", OFFBEAT_TIMES, 0, 1000000, NULL, NULL, "all 0",
           "one delay per rank, in seconds, separated by commas; missing delays are 0"},
          NUMBER("copies", 0, 1, "0", "1: data is copied between buffers, which takes no simulated time")),
     ANSWERS({"cpu_s", OFFBEAT_TIME, 0}, {"arrivals", OFFBEAT_TIMES, 0}, {"exits", OFFBEAT_TIMES, 0})},
    {OFFBEAT_SMPI, "check",
     "`check collective=... algorithm=...`: calls the collective once with data, with sums of `int`, and answers"
     " the number of wrong elements.",
     KEYS(SMPI_CALL(CHOICE("datatype", "int", "int", "`int`"))), ANSWERS(A_NUMBER("wrong"))},
    {OFFBEAT_SMPI, "algorithms",
     "`algorithms collective=...`: the algorithms of a collective; none if SMPI has no choice.", KEYS(COLLECTIVE),
     ANSWERS({"algorithms", OFFBEAT_TEXTS, 0})},
    {OFFBEAT_SMPI, "hello", "`hello`: the version of this protocol and of SimGrid, and the number of processes.",
     .keys = no_keys, ANSWERS(A_NUMBER("protocol"), A_TEXT("simgrid"), A_NUMBER("p"))},
    {OFFBEAT_SMPI, "quit", "Ends the program.", .keys = no_keys, .answers = no_answers},

    {OFFBEAT_EXECUTOR, "run",
     "`run ranks=P iterations=N alone=R buffer_bytes=B`: the first line. How many processes and iterations there"
     " are, and how often each phase is executed alone before them.",
     KEYS(NUMBER("ranks", 1, INT_MAX, NULL, "number of processes"),
          NUMBER("iterations", 0, INT_MAX, NULL, "number of iterations"),
          NUMBER("alone", 0, INT_MAX, "0", "how often all processes begin each phase together, to time it alone"),
          NUMBER("buffer_bytes", 0, INT64_MAX, "0",
                 "bytes of the arrays that the work of a process streams through; 0: several times the last-level"
                 " cache")),
     .answers = no_answers},
    {OFFBEAT_EXECUTOR, "work",
     "`work memory=B,... flops=F,... time_ns=T,...`: a phase of work. The time on the core comes first, the"
     " operations overlap with the memory traffic. Each list has one number per rank; a shorter list is repeated.",
     KEYS(NUMBERS("memory", INT64_MAX, "0", NULL, "bytes of memory traffic"),
          NUMBERS("flops", INT64_MAX, "0", NULL, "floating-point operations"),
          NUMBERS("time_ns", OFFBEAT_MAX_NS, "0", NULL, "nanoseconds on the core"), PERIOD),
     .answers = no_answers},
    {OFFBEAT_EXECUTOR, "exchange",
     "`exchange sends=S`: a phase in which messages are exchanged; lines `message` follow. Each process posts its"
     " receives (MPI_Irecv), sends in the order of the lines, and waits for all (MPI_Waitall).",
     KEYS(CHOICE("sends", "nonblocking blocking synchronous buffered", "nonblocking",
                 "MPI_Isend, MPI_Send, MPI_Issend or MPI_Ibsend"),
          PERIOD),
     .answers = no_answers},
    {OFFBEAT_EXECUTOR, "message", "`message from=A to=B bytes=N`: a message of the last exchange.",
     KEYS(NUMBER("from", 0, INT_MAX, NULL, "the rank that sends"),
          NUMBER("to", 0, INT_MAX, NULL, "the rank that receives"), MESSAGE_BYTES),
     .answers = no_answers},
    {OFFBEAT_EXECUTOR, "collective", "`collective collective=C bytes=N`: a phase that is a collective.",
     KEYS(CALL, LAYOUT, PERIOD), .answers = no_answers},
    {OFFBEAT_EXECUTOR, "delay",
     "`delay`: a place for delays, where ranks have no other work. Delays are in the file `delays`: for each rank"
     " the position of its first record in bytes, and one position more for the end of the last rank's records;"
     " then records of three numbers: iteration and step, both from 0, and nanoseconds. All are int64.",
     KEYS(PERIOD), .answers = no_answers},
    {OFFBEAT_DRIVER, NULL, NULL, NULL, NULL},
};
/* clang-format on */
