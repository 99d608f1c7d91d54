/* SPDX-License-Identifier: BSD-3-Clause */
/** @file datatypes.c  Elements that are not contiguous, and two datatypes of the same signature. */
#include "conformance/message.h"

#include <stddef.h>

enum { TAG = 2, ROWS = 6, COLUMNS = 12, ELEMENTS = ROWS * COLUMNS };

typedef struct record { // NOLINT(clang-analyzer-optin.performance.Padding): the gaps are the subject.
    char letter;
    int number;
    double value;
    char end;
} record;

static MPI_Datatype record_type(void) {
    MPI_Datatype members, whole;
    const int lengths[] = {1, 1, 1};
    const MPI_Aint displacements[] = {offsetof(record, letter), offsetof(record, number),
                                      offsetof(record, value)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MUST(MPI_Type_create_struct(3, lengths, displacements, types, &members));
    MUST(MPI_Type_create_resized(members, 0, sizeof(record), &whole));
    MUST(MPI_Type_commit(&whole));
    MUST(MPI_Type_free(&members));
    return whole;
}

/* A column of a matrix of ROWS × COLUMNS integers, as wide as one element. */
static MPI_Datatype column_type(void) {
    MPI_Datatype column, narrow;
    MUST(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column));
    MUST(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
    MUST(MPI_Type_commit(&narrow));
    MUST(MPI_Type_free(&column));
    return narrow;
}

/* The request of this process, and its datatype. */
typedef struct typed_request {
    partitioned_request request;
    MPI_Datatype type;
} typed_request;

static typed_request open_typed(void *data, int partitions, int count, MPI_Datatype type) {
    typed_request msg = {.type = type};
    if (world.rank == 0)
        MUST(MPI_Psend_init(data, partitions, count, type, 1, TAG, world.comm, MPI_INFO_NULL, &msg.request));
    else
        MUST(MPI_Precv_init(data, partitions, count, type, 0, TAG, world.comm, MPI_INFO_NULL, &msg.request));
    return msg;
}

static void close_typed(typed_request *msg) {
    MUST(MPI_Request_free(&msg->request));
    if (msg->type != MPI_INT && msg->type != MPI_DATATYPE_NULL)
        MUST(MPI_Type_free(&msg->type));
}

static void iterate(typed_request *msg, int partitions) {
    MPI_Status status;
    MUST(MPI_Start(&msg->request));
    for (int i = partitions - 1; i >= 0 && world.rank == 0; i--)
        MUST(MPI_Pready(i, msg->request));
    MUST(MPI_Wait(&msg->request, &status));
}

static void records_with_gaps(void) {
    enum { N = 24, GAP_VALUE = 'u' };
    record data[N];
    typed_request msg = open_typed(data, world.rank ? 4 : 6, world.rank ? 6 : 4, record_type());
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < N; i++)
            data[i] = world.rank ? (record){'?', -1, -1, GAP_VALUE}
                                 : (record){(char)('a' + i), element_of(seed, i), seed + 0.5 * i, 's'};
        iterate(&msg, 6);
        for (int i = 0; i < N && world.rank; i++) {
            EXPECT(data[i].letter == 'a' + i && data[i].number == element_of(seed, i) &&
                       data[i].value == seed + 0.5 * i,
                   "record %d has wrong members", i);
            EXPECT(data[i].end == GAP_VALUE, "the gap of record %d was written", i);
        }
    }
    close_typed(&msg);
}

/* Both sides have columns. */
static void columns_of_a_matrix_of(int frees_type) {
    int matrix[ROWS][COLUMNS];
    typed_request msg = open_typed(matrix, 6, 2, column_type());
    if (frees_type)
        MUST(MPI_Type_free(&msg.type));
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < ELEMENTS; i++)
            matrix[i / COLUMNS][i % COLUMNS] = world.rank ? -1 : element_of(seed, i);
        iterate(&msg, 6);
        for (int i = 0; i < ELEMENTS && world.rank; i++)
            EXPECT(matrix[i / COLUMNS][i % COLUMNS] == element_of(seed, i), "row %d, column %d is wrong",
                   i / COLUMNS, i % COLUMNS);
    }
    close_typed(&msg);
}

static void columns_of_a_matrix(void) {
    columns_of_a_matrix_of(0);
}

static void freed_datatype(void) {
    columns_of_a_matrix_of(1);
}

/* Integers are received as columns: each column has the next ROWS integers. */
static void other_datatype_of_the_receiver(void) {
    int data[ELEMENTS];
    typed_request msg =
        world.rank ? open_typed(data, 3, 4, column_type()) : open_typed(data, 12, ROWS, MPI_INT);
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < ELEMENTS; i++)
            data[i] = world.rank ? -1 : element_of(seed, i);
        iterate(&msg, 12);
        for (int i = 0; i < ELEMENTS && world.rank; i++)
            EXPECT(data[i % ROWS * COLUMNS + i / ROWS] == element_of(seed, i),
                   "element %d of the message is wrong", i);
    }
    close_typed(&msg);
}

/* A partition of the sender ends inside an element of the receiver. */
static void partitions_end_inside_elements(void) {
    int data[ELEMENTS];
    typed_request msg =
        world.rank ? open_typed(data, 3, 4, column_type()) : open_typed(data, 8, ELEMENTS / 8, MPI_INT);
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < ELEMENTS; i++)
            data[i] = world.rank ? -1 : element_of(seed, i);
        iterate(&msg, 8);
        for (int i = 0; i < ELEMENTS && world.rank; i++)
            EXPECT(data[i % ROWS * COLUMNS + i / ROWS] == element_of(seed, i),
                   "element %d of the message is wrong", i);
    }
    close_typed(&msg);
}

const conformance_case datatypes_cases[] = {
    {"struct-with-gaps", "4.2.3", "Gaps of a datatype are neither sent nor written.", records_with_gaps, 0},
    {"vector", "4.2.3", "The datatype may be a vector.", columns_of_a_matrix, 0},
    {"freed-datatype", "4.2.1", "The datatype may be freed after the initialisation.", freed_datatype, 0},
    {"other-datatype", "4.2.3", "The receiver may have another datatype of the same signature.",
     other_datatype_of_the_receiver, 0},
    {"split-elements", "4.2.3", "A partition of the sender may end inside an element of the receiver.",
     partitions_end_inside_elements, 0},
    {0},
};
