/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random partitioned collectives with checked data: kinds, roots, partitions, datatypes, operations,
 * settings, orders, several at once and, with MPI_THREAD_MULTIPLE, threads. Arguments: number of collectives
 * (default: 600 with one process, 200 with two, 60 with more), seed (default 1), `serialized` (at this thread
 * level instead). All processes draw the same numbers.
 */
#include <offbeat/partitioned_collectives.h>

#include "testing/mpi_assert.h"
#include "testing/thread_level.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_ONCE = 3, MOST_THREADS = 3, MOST_ITERATIONS = 4, MOST_WORDS = 2 };

static const uint64_t FILL_WORD = 0xABCDABCDABCDABCDu;

static int rank, size, threads_allowed;
static uint64_t state;

/* The next number of a xorshift generator, below a limit. */
static int draw(int limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 33) % (uint64_t)limit);
}

/* --- elements and operations --- */

/* a + b + 2 a b, which is associative and commutative. */
static void mix(void *input, void *inout, int *length, MPI_Datatype *type) {
    const uint64_t *left = input;
    uint64_t *right = inout;
    (void)type;
    for (int i = 0; i < *length; i++)
        right[i] = left[i] + right[i] + 2 * left[i] * right[i];
}

/* x → a x + b, as words a and b: the left map first. */
static void compose(void *input, void *inout, int *length, MPI_Datatype *type) {
    const uint64_t *left = input;
    uint64_t *right = inout;
    (void)type;
    for (int i = 0; i < 2 * *length; i += 2) {
        right[i + 1] += right[i] * left[i + 1];
        right[i] *= left[i];
    }
}

/* Words with a gap of a word after each. */
static void add_sparse(void *input, void *inout, int *length, MPI_Datatype *type) {
    const uint64_t *left = input;
    uint64_t *right = inout;
    (void)type;
    for (int i = 0; i < 2 * *length; i += 2)
        right[i] += left[i];
}

/* What is reduced how. */
typedef struct algebra {
    int words; /* that an element spans */
    int has_gap;
    MPI_Datatype type;
    MPI_Op op;
    MPI_User_function *apply; /* of one element */
} algebra;

enum { ALGEBRAS = 6 };

static algebra algebras[ALGEBRAS];

static void add_word(void *input, void *inout, int *length, MPI_Datatype *type) {
    (void)length;
    (void)type;
    *(uint64_t *)inout += *(const uint64_t *)input;
}

static void larger_word(void *input, void *inout, int *length, MPI_Datatype *type) {
    (void)length;
    (void)type;
    if (*(const uint64_t *)input > *(const uint64_t *)inout)
        *(uint64_t *)inout = *(const uint64_t *)input;
}

static void create_algebras(void) {
    MPI_Datatype pair, sparse;
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_create_resized(MPI_UINT64_T, 0, 16, &sparse);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&sparse);
    algebras[0] = (algebra){1, 0, MPI_UINT64_T, MPI_SUM, add_word};
    algebras[1] = (algebra){1, 0, MPI_UINT64_T, MPI_MAX, larger_word};
    algebras[2] = (algebra){1, 0, MPI_UINT64_T, MPI_OP_NULL, mix};
    algebras[3] = (algebra){2, 0, pair, MPI_OP_NULL, compose};
    algebras[4] = algebras[5] = (algebra){2, 1, sparse, MPI_OP_NULL, add_sparse};
    MPI_Op_create(mix, 1, &algebras[2].op);
    MPI_Op_create(compose, 0, &algebras[3].op);
    MPI_Op_create(add_sparse, 1, &algebras[4].op);
    MPI_Op_create(add_sparse, 0, &algebras[5].op);
}

static void free_algebras(void) {
    for (int i = 2; i < ALGEBRAS; i++)
        MPI_Op_free(&algebras[i].op);
    MPI_Type_free(&algebras[3].type);
    MPI_Type_free(&algebras[4].type);
}

/* --- a collective --- */

typedef struct random_collective {
    int is_allreduce, is_in_place, root, partitions, count, id, threads;
    const algebra *rule;
    int order;
    int words; /* of the buffer */
    uint64_t *output, *input;
    offbeat_prequest request;
} random_collective;

static uint64_t word_of(int source, int iteration, int id, int index) {
    const uint64_t hash = ((uint64_t)index + 1) * 0x9E3779B97F4A7C15u +
                          (uint64_t)(source * 977 + iteration * 31 + id * 7) * 0xD1B54A32D192ED03u;
    return (hash ^ hash >> 29) >> 1; /* MPI_MAX of MPICH 4.0 takes larger words for negative ones */
}

static MPI_Info draw_info(void) {
    MPI_Info info;
    char text[20];
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%d", 1 + draw(draw(2) ? 64 : 5000));
    if (draw(4) > 0)
        MPI_Info_set(info, "offbeat_message_bytes", text);
    snprintf(text, sizeof text, "%d", 1 + draw(4));
    if (draw(2) == 0)
        MPI_Info_set(info, "offbeat_fanout", text);
    if (draw(4) == 0)
        MPI_Info_set(info, "offbeat_order", "rank");
    if (draw(4) == 0)
        MPI_Info_set(info, "offbeat_lane", text);
    return info;
}

static void draw_collective(random_collective *collective, int id) {
    static const int counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 13, 37, 64};
    *collective =
        (random_collective){.is_allreduce = draw(2), .is_in_place = draw(2), .root = draw(size), .id = id};
    collective->partitions = counts[draw(11)];
    collective->count = draw(5) == 0 ? draw(3) : draw(draw(20) == 0 ? 3000 : 100);
    collective->threads = threads_allowed && draw(8) == 0 ? 2 + draw(MOST_THREADS - 1) : 1;
    collective->rule = &algebras[draw(ALGEBRAS)];
    collective->order = draw(1 << 30);
    collective->words = collective->partitions * collective->count * collective->rule->words;
    collective->output = malloc(sizeof(uint64_t) * ((size_t)collective->words + 1));
    collective->input = malloc(sizeof(uint64_t) * ((size_t)collective->words + 1));
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): the buffers are freed with the collective.
static void init_collective(random_collective *collective) {
    MPI_Info info = draw_info();
    MPI_Datatype type = collective->rule->type;
    int count = collective->count;
    if (!collective->is_allreduce && collective->rule == &algebras[3] &&
        rank % 2) { /* the same words, by another datatype */
        type = MPI_UINT64_T;
        count *= 2;
    }
    int rc = collective->is_allreduce
                 ? offbeat_pallreduce_init(collective->is_in_place ? MPI_IN_PLACE : collective->output,
                                           collective->input, collective->partitions, count, type,
                                           collective->rule->op, MPI_COMM_WORLD, info, &collective->request)
                 : offbeat_pbcast_init(collective->input, collective->partitions, count, type,
                                       collective->root, MPI_COMM_WORLD, info, &collective->request);
    mpi_assert_success(rc, "the initialisation");
    MPI_Info_free(&info);
}
// NOLINTEND(clang-analyzer-unix.Malloc)

static void fill(const random_collective *collective, int iteration) {
    uint64_t *contribution =
        collective->is_allreduce && !collective->is_in_place ? collective->output : collective->input;
    const int is_filled = collective->is_allreduce || rank == collective->root;
    for (int i = 0; i < collective->words; i++) {
        const int is_gap = collective->rule->has_gap && i % 2;
        collective->input[i] = FILL_WORD;
        contribution[i] = is_filled && !is_gap ? word_of(rank, iteration, collective->id, i) : FILL_WORD;
    }
}

/* The words of an element of the result. */
static void expect(const random_collective *collective, int iteration, int element,
                   uint64_t result[MOST_WORDS]) {
    const int words = collective->rule->words, first = element * words;
    uint64_t left[MOST_WORDS];
    MPI_Datatype type = MPI_UINT64_T;
    int partition_of_one = 1, begin = collective->is_allreduce ? 0 : collective->root;
    for (int k = 0; k < words; k++)
        result[k] = word_of(begin, iteration, collective->id, first + k);
    for (int source = 1; source < size && collective->is_allreduce; source++) {
        memcpy(left, result, sizeof left);
        for (int k = 0; k < words; k++)
            result[k] = word_of(source, iteration, collective->id, first + k);
        collective->rule->apply(left, result, &partition_of_one, &type);
    }
    if (collective->rule->has_gap)
        result[1] = FILL_WORD;
}

static void check(const random_collective *collective, int iteration, int partition) {
    const int words = collective->rule->words;
    for (int i = partition * collective->count; i < (partition + 1) * collective->count; i++) {
        uint64_t expected_words[MOST_WORDS];
        expect(collective, iteration, i, expected_words);
        mpi_assert(memcmp(&collective->input[i * words], expected_words, sizeof(uint64_t) * (size_t)words) ==
                       0,
                   "%s of %d x %d elements of kind %d, %s, from %d, iteration %d: element %d is wrong.",
                   collective->is_allreduce ? "allreduce" : "broadcast", collective->partitions,
                   collective->count, (int)(collective->rule - algebras),
                   collective->is_in_place ? "in place" : "not in place", collective->root, iteration, i);
    }
}

/* --- iterations --- */

/* A thread's share of the partitions; it also looks at partitions that arrive. */
typedef struct share {
    random_collective *rule;
    int thread;
} share;

static void *mark_share(void *argument) {
    const share *part = argument;
    random_collective *collective = part->rule;
    for (int i = part->thread; i < collective->partitions; i += collective->threads) {
        const int partition = (int)((i * 7919LL + collective->order + rank) % collective->partitions);
        int flag;
        mpi_assert_success(offbeat_pready(partition, collective->request), "offbeat_pready");
        offbeat_parrived(collective->request, i, &flag);
    }
    return NULL;
}

static void mark_all(random_collective *collective) {
    pthread_t threads[MOST_THREADS] = {0};
    share shares[MOST_THREADS] = {0};
    if (!collective->is_allreduce && rank != collective->root)
        return;
    for (int i = 0; i < collective->threads; i++)
        shares[i] = (share){collective, i};
    for (int i = 1; i < collective->threads; i++)
        mpi_assert(pthread_create(&threads[i], NULL, mark_share, &shares[i]) == 0, "No thread was created.");
    mark_share(&shares[0]);
    for (int i = 1; i < collective->threads; i++)
        pthread_join(threads[i], NULL);
}

static void run(random_collective collective[], int count, int iteration) {
    offbeat_prequest requests[MOST_AT_ONCE];
    for (int i = 0; i < count; i++) {
        fill(&collective[i], iteration);
        requests[i] = collective[i].request;
    }
    mpi_assert_success(offbeat_pstartall(count, requests), "offbeat_pstartall");
    for (int i = 0; i < count; i++)
        mark_all(&collective[(i + rank) % count]);
    for (int i = 0; i < count; i++) { /* one partition is read as soon as it is here */
        if (collective[i].partitions == 0)
            continue;
        const int partition = collective[i].order % collective[i].partitions;
        for (int flag = 0; !flag; sched_yield())
            mpi_assert_success(offbeat_parrived(collective[i].request, partition, &flag), "offbeat_parrived");
        check(&collective[i], iteration, partition);
    }
    mpi_assert_success(offbeat_pwaitall(count, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < collective[i].partitions; k++)
            check(&collective[i], iteration, k);
}

/* @return the number of collectives */
static int run_round(void) {
    random_collective collective[MOST_AT_ONCE] = {0};
    const int count = 1 + draw(MOST_AT_ONCE), iterations = 1 + draw(MOST_ITERATIONS);
    for (int i = 0; i < count; i++) {
        draw_collective(&collective[i], i);
        init_collective(&collective[i]);
    }
    for (int iteration = 0; iteration < iterations; iteration++)
        run(collective, count, iteration);
    for (int i = 0; i < count; i++) {
        mpi_assert_success(offbeat_prequest_free(&collective[i].request), "offbeat_prequest_free");
        free(collective[i].output);
        free(collective[i].input);
    }
    return count * iterations;
}

int main(int argc, char **argv) {
    int provided_level;
    const int level = offbeat_testing_thread_level(&argc, argv, MPI_THREAD_MULTIPLE);
    MPI_Init_thread(&argc, &argv, level, &provided_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    threads_allowed = provided_level == MPI_THREAD_MULTIPLE;
    const long collectives = argc > 1 ? strtol(argv[1], NULL, 10) : size > 2 ? 60 : size == 2 ? 200 : 600;
    state = (uint64_t)(argc > 2 ? strtol(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
    create_algebras();
    mpi_assert_success(offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL),
                       "offbeat_partitioned_attach");
    for (long run_count = 0; run_count < collectives; run_count += run_round())
        ;
    free_algebras();
    if (rank == 0)
        printf("%ld random collectives of %d processes had the right result\n", collectives, size);
    MPI_Finalize();
    return 0;
}
