/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

/** The user-defined operation "affine": inout = in composed with inout. */
static void compose_affine(void *input, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    const long *left = input;
    long *right = inout;
    for (int i = 0; i < *count; i++, left += 2, right += 2) {
        offbeat_value value = offbeat_reduce_values(OFFBEAT_COMPOSE, (offbeat_value){left[0], left[1]},
                                                    (offbeat_value){right[0], right[1]});
        offbeat_store(OFFBEAT_AFFINE, value, right);
    }
}

/** The user-defined operation "user_sum" on double. */
static void add_doubles(void *input, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    const double *left = input;
    double *right = inout;
    for (int i = 0; i < *count; i++)
        right[i] += left[i];
}

/** The user-defined operation "user_sum" on gapped. */
static void add_gapped(void *input, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    const long *left = input;
    long *right = inout;
    for (int i = 0; i < *count; i++, left += 4, right += 4) {
        right[0] += left[0];
        right[2] += left[2];
    }
}

/** Two long integers, with a gap of one after each. */
static int create_gapped(MPI_Datatype *type) {
    MPI_Datatype without_end;
    int code = MPI_Type_vector(2, 1, 2, MPI_LONG, &without_end);
    if (code != MPI_SUCCESS)
        return code;
    code =
        MPI_Type_create_resized(without_end, 0, (MPI_Aint)offbeat_datatype_extent(OFFBEAT_GAPPED_PAIR), type);
    MPI_Type_free(&without_end);
    return code;
}

static int create_derived(offbeat_datatype datatype, MPI_Datatype *type) {
    switch (datatype) {
    case OFFBEAT_ODD:
        return MPI_Type_contiguous(3, MPI_UNSIGNED_CHAR, type);
    case OFFBEAT_WIDE:
        return MPI_Type_contiguous(OFFBEAT_WIDE_LONGS, MPI_LONG, type);
    case OFFBEAT_GAPPED_PAIR:
        return create_gapped(type);
    default:
        return MPI_Type_contiguous(2, MPI_LONG, type);
    }
}

static int create_type(offbeat_datatype datatype, MPI_Datatype *type) {
    const MPI_Datatype predefined_types[] = {[OFFBEAT_BYTE] = MPI_UNSIGNED_CHAR,
                                             [OFFBEAT_INT] = MPI_INT,
                                             [OFFBEAT_LONG] = MPI_LONG,
                                             [OFFBEAT_FLOAT] = MPI_FLOAT,
                                             [OFFBEAT_DOUBLE] = MPI_DOUBLE};
    if (datatype < OFFBEAT_AFFINE) {
        *type = predefined_types[datatype];
        return MPI_SUCCESS;
    }
    int code = create_derived(datatype, type);
    return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

/* OFFBEAT_OPS: the collective has no operation. */
static int create_operation(offbeat_op op, offbeat_datatype datatype, MPI_Op *operation) {
    const MPI_Op predefined_operators[OFFBEAT_OPS + 1] = {
        [OFFBEAT_SUM] = MPI_SUM,   [OFFBEAT_PROD] = MPI_PROD,  [OFFBEAT_MAX] = MPI_MAX,
        [OFFBEAT_MIN] = MPI_MIN,   [OFFBEAT_BAND] = MPI_BAND,  [OFFBEAT_BOR] = MPI_BOR,
        [OFFBEAT_BXOR] = MPI_BXOR, [OFFBEAT_OPS] = MPI_OP_NULL};
    if (op == OFFBEAT_COMPOSE)
        return MPI_Op_create(compose_affine, 0, operation);
    if (op == OFFBEAT_USER_SUM)
        return MPI_Op_create(datatype == OFFBEAT_GAPPED_PAIR ? add_gapped : add_doubles, 1, operation);
    *operation = predefined_operators[op];
    return MPI_SUCCESS;
}

int offbeat_handles_create(offbeat_call *call) {
    call->type = MPI_DATATYPE_NULL;
    call->operation = MPI_OP_NULL;
    int code = create_type(call->datatype, &call->type);
    return code == MPI_SUCCESS ? create_operation(call->op, call->datatype, &call->operation) : code;
}

void offbeat_handles_free(offbeat_call *call) {
    if (call->datatype >= OFFBEAT_AFFINE && call->datatype < OFFBEAT_DATATYPES &&
        call->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&call->type);
    if ((call->op == OFFBEAT_COMPOSE || call->op == OFFBEAT_USER_SUM) && call->operation != MPI_OP_NULL)
        MPI_Op_free(&call->operation);
}
