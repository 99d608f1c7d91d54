/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests every collective, datatype, operation and root, at several sizes, on the launched processes: the
 * library's result is the expected one, a wrong element is detected, and invalid requests are refused.
 *
 * usage: collectives_test [COLLECTIVE [DATATYPE [OP]]]   tests only these; exit status 1 after a failure
 */
#include "collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call.h"

static int failures;
static int cases;
static int world_rank;

static void expect(int condition, const offbeat_request *r, const char *claim, size_t wrong) {
    if (condition)
        return;
    if (++failures <= 10)
        printf("rank %d: failed: %s: %s %zu bytes of %s, %s, root %d (%zu elements wrong)\n", world_rank,
               claim, r->collective, r->bytes, r->datatype, r->op, r->root, wrong);
}

/** The number of elements that are checked on this process. */
static size_t checked_elements(const offbeat_call *call) {
    return offbeat_expected_blocks(call) * (size_t)call->count;
}

/** Flips a bit in the first, the middle and the last element; the check must detect exactly that element. */
static void expect_corruption_is_detected(const offbeat_request *request, offbeat_call *call) {
    size_t elements = checked_elements(call);
    size_t extent = offbeat_datatype_extent(call->datatype);
    size_t indices[] = {0, elements / 2, elements - 1};
    for (int i = 0; elements > 0 && i < 3; i++) {
        unsigned char *byte = (unsigned char *)call->receive + indices[i] * extent + (size_t)i % extent;
        *byte ^= (unsigned char)(1 << i);
        size_t wrong = offbeat_call_check(call);
        expect(wrong == 1, request, "a corrupted element is detected", wrong);
        *byte ^= (unsigned char)(1 << i);
    }
}

static void expect_wiped(const offbeat_request *request, offbeat_call *call, const char *claim) {
    size_t wrong = offbeat_call_check(call);
    expect(wrong == (offbeat_receive_is_source(call) ? 0 : checked_elements(call)), request, claim, wrong);
}

static void test_case(const offbeat_request *request) {
    offbeat_call *call = NULL;
    const char *why = "";
    cases++;
    if (offbeat_call_create(request, &call, &why) != MPI_SUCCESS) {
        expect(0, request, why, 0);
        return;
    }
    expect_wiped(request, call, "all elements of a new buffer are wrong");
    int code = offbeat_call_run(call);
    size_t wrong = offbeat_call_check(call);
    expect(code == MPI_SUCCESS && wrong == 0, request, "the library's result is the expected one", wrong);
    expect_corruption_is_detected(request, call);
    offbeat_call_wipe(call);
    expect_wiped(request, call, "all elements of a wiped buffer are wrong");
    offbeat_call_free(&call);
    expect(call == NULL, request, "free sets the pointer to NULL", 0);
}

/** Tests a variant of a call, if the collective has the variant. */
static void test_variant(const offbeat_request *request, const offbeat_variant *variant) {
    offbeat_call *call = NULL;
    const char *why = "";
    if (offbeat_call_create_variant(request, variant, &call, &why) != MPI_SUCCESS)
        return;
    cases++;
    int code = offbeat_call_run(call);
    size_t wrong = offbeat_call_check(call);
    expect(code == MPI_SUCCESS && wrong == 0, request, "the result of another legal call is correct", wrong);
    offbeat_call_free(&call);
}

/** In place or not, with or without null values for ignored arguments, with every kind of counts. Reversed
 * counts are skipped on one process, as MPICH 4.0.2 ignores its only displacement in allgatherv. */
static void test_variants(const offbeat_request *request) {
    int p = 0;
    MPI_Comm_size(request->comm, &p);
    for (int in_place = 0; in_place < 2; in_place++)
        for (int null_ignored = 0; null_ignored < 2; null_ignored++)
            for (offbeat_counts counts = OFFBEAT_COUNTS_EVEN; counts < OFFBEAT_COUNTS; counts++)
                if (p > 1 || counts != OFFBEAT_COUNTS_REVERSED)
                    test_variant(request, &(offbeat_variant){in_place, null_ignored, counts});
}

static int is_reduction(const char *collective) {
    return offbeat_collective_is_reduction(offbeat_collective_find(collective));
}

static int has_root(const char *collective) {
    return offbeat_collective_find(collective)->root != OFFBEAT_NO_ROOT;
}

static void test_sizes_and_roots(offbeat_request request) {
    const size_t counts[] = {1, 5, 251, 2100};
    size_t extent = offbeat_datatype_extent(offbeat_datatype_find(request.datatype));
    int p = 0;
    MPI_Comm_size(request.comm, &p);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int root = 0; root < (has_root(request.collective) ? p : 1); root++) {
            request.bytes = counts[i] * extent;
            request.root = root;
            test_case(&request);
        }
}

/** @return whether the command line selects this combination */
static int is_selected(int argc, char **argv, const offbeat_request *request) {
    return (argc < 2 || strcmp(argv[1], request->collective) == 0) &&
           (argc < 3 || strcmp(argv[2], request->datatype) == 0) &&
           (argc < 4 || strcmp(argv[3], request->op) == 0);
}

static void all_collectives_are_correct(int argc, char **argv, MPI_Comm comm) {
    for (int c = 0; c < offbeat_collective_count(); c++)
        for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
            for (offbeat_op op = OFFBEAT_SUM; op < OFFBEAT_OPS; op++) {
                offbeat_request request = {.collective = offbeat_collective_name(c),
                                           .datatype = offbeat_datatype_name(t),
                                           .op = offbeat_op_name(op),
                                           .comm = comm};
                int reduces = is_reduction(request.collective);
                if (strcmp(request.collective, "barrier") == 0 || (reduces && !offbeat_op_fits(op, t)) ||
                    (!reduces && op != OFFBEAT_SUM) || !is_selected(argc, argv, &request))
                    continue;
                test_sizes_and_roots(request);
            }
}

/** Other legal calls: the last root, with a commutative operation, a non-commutative one, and a datatype with
 * gaps. */
static void all_variants_are_correct(MPI_Comm comm) {
    static const char *const elements[][2] = {
        {"double", "sum"}, {"affine", "affine"}, {"gapped", "user_sum"}};
    int p = 0;
    MPI_Comm_size(comm, &p);
    for (int c = 0; c < offbeat_collective_count(); c++)
        for (int e = 0; e < 3 && strcmp(offbeat_collective_name(c), "barrier") != 0; e++) {
            size_t extent = offbeat_datatype_extent(offbeat_datatype_find(elements[e][0]));
            offbeat_request request = {
                offbeat_collective_name(c), 5 * extent, elements[e][0], elements[e][1], p - 1, comm};
            test_variants(&request);
        }
}

static void illegal_variants_are_refused(MPI_Comm comm) {
    const offbeat_request bcast = {"bcast", 8, "double", "sum", 0, comm};
    const offbeat_request gather = {"gather", 8, "double", "sum", 0, comm};
    const struct {
        const offbeat_request *request;
        offbeat_variant variant;
        const char *message;
    } bad[] = {
        {&bcast, {.in_place = 1}, "MPI defines no call in place"},
        {&gather, {.counts = OFFBEAT_COUNTS_UNEVEN}, "its counts are the same"},
        {&gather, {.counts = OFFBEAT_COUNTS_REVERSED}, "its counts are the same"},
        {&gather, {.counts = offbeat_counts_find("odd")}, "must be even, uneven, reversed or none"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        offbeat_call *call = NULL;
        const char *why = "";
        int code = offbeat_call_create_variant(bad[i].request, &bad[i].variant, &call, &why);
        expect(code == MPI_ERR_ARG && strstr(why, bad[i].message) != NULL, bad[i].request, bad[i].message, 0);
    }
}

/** Sizes at which libraries use segmented and rendezvous protocols. */
static void large_messages_are_correct(MPI_Comm comm) {
    for (int c = 0; c < offbeat_collective_count(); c++) {
        const char *collective = offbeat_collective_name(c);
        if (strcmp(collective, "barrier") == 0)
            continue;
        offbeat_request request = {collective, 1 << 18, "double", "sum", 0, comm};
        test_case(&request);
        if (is_reduction(collective)) {
            request.datatype = request.op = "affine";
            test_case(&request);
        }
    }
}

static void barrier_runs_and_checks_nothing(MPI_Comm comm) {
    offbeat_request request = {.collective = "barrier", .comm = comm};
    offbeat_call *call = NULL;
    const char *why = "";
    int code = offbeat_call_create(&request, &call, &why);
    request.datatype = request.op = "";
    expect(code == MPI_SUCCESS, &request, why, 0);
    if (code != MPI_SUCCESS)
        return;
    offbeat_call_wipe(call);
    expect(offbeat_call_run(call) == MPI_SUCCESS && offbeat_call_check(call) == 0, &request, "barrier runs",
           0);
    offbeat_call_free(&call);
}

/** A communicator whose ranks are in another order. */
static void reversed_ranks_are_correct(MPI_Comm comm) {
    int rank;
    MPI_Comm reversed_comm;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, 0, -rank, &reversed_comm);
    large_messages_are_correct(reversed_comm);
    MPI_Comm_free(&reversed_comm);
}

/** An invalid request, and a part of its error message. */
typedef struct refusal {
    offbeat_request request;
    int code;
    const char *message;
} refusal;

static void expect_refusal(const refusal *bad) {
    offbeat_call *call = (offbeat_call *)&failures;
    const char *why = "";
    int code = offbeat_call_create(&bad->request, &call, &why);
    if (code == bad->code && call == NULL && strstr(why, bad->message) != NULL)
        return;
    failures++;
    printf("rank %d: an invalid request gave code %d (not %d) and '%s', which does not contain '%s'\n",
           world_rank, code, bad->code, why, bad->message);
    offbeat_call_free(&call);
}

static void invalid_requests_are_refused(MPI_Comm comm) {
    int p;
    MPI_Comm_size(comm, &p);
    const size_t int_max = 2147483647;
    const refusal bad[] = {
        {{"allreduc", 8, "double", "sum", 0, comm}, MPI_ERR_ARG, "'allreduc' is not a collective"},
        {{NULL, 8, "double", "sum", 0, comm}, MPI_ERR_ARG, "'' is not a collective"},
        {{"bcast", 8, "quad", "", 0, comm}, MPI_ERR_ARG, "'quad' is not a datatype; give byte"},
        {{"bcast", 8, NULL, NULL, 0, comm}, MPI_ERR_ARG, "'' is not a datatype"},
        {{"scan", 8, "double", "plus", 0, comm}, MPI_ERR_ARG, "'plus' is not an operation; give sum"},
        {{"exscan", 8, "double", NULL, 0, comm}, MPI_ERR_ARG, "'' is not an operation"},
        {{"allreduce", 8, "double", "bxor", 0, comm}, MPI_ERR_ARG, "bxor is not defined on double; bitwise"},
        {{"allreduce", 16, "affine", "sum", 0, comm},
         MPI_ERR_ARG,
         "sum is not defined on affine; the operation"},
        {{"allreduce", 8, "long", "affine", 0, comm}, MPI_ERR_ARG, "affine is not defined on long"},
        {{"reduce", 8, "double", "sum", p, comm}, MPI_ERR_ARG, "is not a rank of"},
        {{"gather", 8, "double", "", -1, comm}, MPI_ERR_ARG, "root -1 is not a rank of"},
        {{"alltoall", 12, "double", "", 0, comm},
         MPI_ERR_ARG,
         "12 bytes are not a whole number of double elements"},
        {{"alltoall", 0, "double", "", 0, comm},
         MPI_ERR_ARG,
         "0 bytes has nothing to check; give a multiple of 8"},
        {{"barrier", 8, "double", "", 0, comm}, MPI_ERR_ARG, "its size is 0 bytes, not 8"},
        {{"allreduce", int_max + 1, "byte", "sum", 0, comm}, MPI_ERR_ARG, "give at most 2147483647 bytes"},
        {{"scatter", int_max / (size_t)p + 1, "byte", "", 0, comm},
         MPI_ERR_ARG,
         "more than 2147483647 byte elements"},
        {{"bcast", SIZE_MAX, "byte", "", 0, comm}, MPI_ERR_ARG, "more than 2147483647 byte elements"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(&bad[i]);
    expect(offbeat_collective_name(-1) == NULL && offbeat_collective_name(14) == NULL, &bad[0].request,
           "there are 14 collectives", 0);
}

/** Two buffers of 64 GiB in total; skipped on machines with that much memory. */
static void requests_beyond_physical_memory_are_refused(MPI_Comm comm) {
    const refusal excess_call = {{"allreduce", (size_t)2147483647 * 16, "affine", "affine", 0, comm},
                                 MPI_ERR_NO_MEM,
                                 "would take 65536 MiB, this machine has"};
    if ((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) < 0x1p36 - 0x1p10)
        expect_refusal(&excess_call);
    else if (world_rank == 0)
        printf("skipped requests_beyond_physical_memory_are_refused: this machine has 64 GiB or more\n");
}

/** With a limit of the address space below the present use, every large allocation fails. */
static void failed_allocations_are_reported(MPI_Comm comm) {
    const refusal large = {{"alltoallv", 64 << 20, "byte", "", 0, comm},
                           MPI_ERR_NO_MEM,
                           "the system has no memory for buffers of 67108864 bytes"};
    struct rlimit initial_limit;
    getrlimit(RLIMIT_AS, &initial_limit);
    struct rlimit tight = {1 << 20, initial_limit.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
    expect_refusal(&large);
    setrlimit(RLIMIT_AS, &initial_limit);
}

int main(int argc, char **argv) {
    int all_failures = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    all_collectives_are_correct(argc, argv, MPI_COMM_WORLD);
    if (argc == 1) {
        all_variants_are_correct(MPI_COMM_WORLD);
        illegal_variants_are_refused(MPI_COMM_WORLD);
        large_messages_are_correct(MPI_COMM_WORLD);
        barrier_runs_and_checks_nothing(MPI_COMM_WORLD);
        reversed_ranks_are_correct(MPI_COMM_WORLD);
        invalid_requests_are_refused(MPI_COMM_WORLD);
        requests_beyond_physical_memory_are_refused(MPI_COMM_WORLD);
        failed_allocations_are_reported(MPI_COMM_WORLD);
    }
    MPI_Reduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("collectives_test: %d cases, %d failures\n", cases, all_failures);
    MPI_Finalize();
    return failures != 0;
}
