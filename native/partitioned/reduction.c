/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/reduction.h"

#include "partitioned/transfer.h"

#include <stdlib.h>
#include <string.h>

enum { COPIED_BYTES = 65536, REDUCED_AT_ONCE = 1 << 30 };

/* Memory for elements. @param[out] elements where the first one is */
static int allocate(const offbeat_partitioned_reduction *reduction, int64_t count, void **memory,
                    char **elements) {
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_true_extent(reduction->datatype, &lower, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    const int64_t span = count > 0 ? (count - 1) * reduction->extent : 0;
    const int64_t first = lower + (span < 0 ? span : 0), bytes = (span < 0 ? -span : span) + extent;
    *memory = malloc((size_t)bytes + 1);
    if (*memory == NULL)
        return MPI_ERR_NO_MEM;
    *elements = (char *)*memory - first;
    return MPI_SUCCESS;
}

int offbeat_partitioned_reduction_allocate(offbeat_partitioned_reduction *reduction, int64_t elements,
                                           int64_t largest) {
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_true_extent(reduction->datatype, &lower, &extent);
    reduction->is_dense = lower == 0 && extent == reduction->extent && extent == reduction->element_bytes;
    if (rc == MPI_SUCCESS)
        rc = allocate(reduction, elements, &reduction->partial_memory, &reduction->partial);
    if (rc == MPI_SUCCESS && !reduction->may_swap)
        rc = allocate(reduction, largest, &reduction->scratch_memory, &reduction->scratch);
    return rc;
}

void offbeat_partitioned_reduction_free(offbeat_partitioned_reduction *reduction) {
    free(reduction->partial_memory);
    free(reduction->scratch_memory);
}

/* Copies elements with gaps, which keep their bytes. */
static int copy_sparse(const offbeat_partitioned_reduction *reduction, const char *source, char *target,
                       int64_t count) {
    const int64_t fitting_count = COPIED_BYTES / reduction->element_bytes,
                  at_once = fitting_count > 0 ? fitting_count : 1;
    char *packed_bytes = malloc((size_t)(at_once * reduction->element_bytes));
    int rc = packed_bytes == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int64_t done_count = 0; done_count < count && rc == MPI_SUCCESS; done_count += at_once) {
        const int64_t chunk = count - done_count < at_once ? count - done_count : at_once;
        const offbeat_partitioned_elements copies = {target + done_count * reduction->extent, chunk,
                                                     reduction->datatype};
        int offset = 0;
        rc = PMPI_Pack(source + done_count * reduction->extent, (int)chunk, reduction->datatype, packed_bytes,
                       (int)(chunk * reduction->element_bytes), &offset, MPI_COMM_SELF);
        if (rc == MPI_SUCCESS)
            rc = offbeat_partitioned_unpack(packed_bytes, reduction->element_bytes, reduction->extent, copies,
                                            MPI_COMM_SELF);
    }
    free(packed_bytes);
    return rc;
}

static int copy(const offbeat_partitioned_reduction *reduction, const char *source, char *target,
                int64_t count) {
    if (reduction->element_bytes == 0)
        return MPI_SUCCESS;
    if (!reduction->is_dense)
        return copy_sparse(reduction, source, target, count);
    memcpy(target, source, (size_t)(count * reduction->extent));
    return MPI_SUCCESS;
}

/* right = left op right, for each element. */
static int reduce(const offbeat_partitioned_reduction *reduction, const char *left, char *right,
                  int64_t count) {
    int rc = MPI_SUCCESS;
    for (int64_t done_count = 0; done_count < count && rc == MPI_SUCCESS; done_count += REDUCED_AT_ONCE) {
        const int64_t chunk = count - done_count < REDUCED_AT_ONCE ? count - done_count : REDUCED_AT_ONCE;
        rc = PMPI_Reduce_local(left + done_count * reduction->extent, right + done_count * reduction->extent,
                               (int)chunk, reduction->datatype, reduction->op);
    }
    return rc;
}

int offbeat_partitioned_reduction_pass(const offbeat_partitioned_reduction *reduction, int64_t first,
                                       int64_t count, int is_first, char **sum) {
    const int64_t offset = first * reduction->extent;
    const char *contribution = (reduction->send != NULL ? reduction->send : reduction->result) + offset;
    char *partial = reduction->partial + offset;
    *sum = reduction->partial;
    if (is_first && reduction->send != NULL) {
        *sum = (char *)reduction->send;
        return MPI_SUCCESS;
    }
    if (is_first)
        return copy(reduction, contribution, partial,
                    count); /* the result comes to where the contribution is */
    if (reduction->may_swap)
        return reduce(reduction, contribution, partial, count);
    int rc = copy(reduction, contribution, reduction->scratch, count);
    if (rc == MPI_SUCCESS)
        rc = reduce(reduction, partial, reduction->scratch, count);
    return rc == MPI_SUCCESS ? copy(reduction, reduction->scratch, partial, count) : rc;
}

int offbeat_partitioned_reduction_end(const offbeat_partitioned_reduction *reduction, int64_t first,
                                      int64_t count, int is_first) {
    const int64_t offset = first * reduction->extent;
    char *result = reduction->result + offset;
    int rc = reduction->send == NULL ? MPI_SUCCESS : copy(reduction, reduction->send + offset, result, count);
    return is_first || rc != MPI_SUCCESS ? rc : reduce(reduction, reduction->partial + offset, result, count);
}
