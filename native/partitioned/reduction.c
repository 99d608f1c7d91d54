/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/reduction.h"

#include "partitioned/transfer.h"

#include <stdlib.h>
#include <string.h>

enum { COPIED_BYTES = 65536, REDUCED_AT_ONCE = 1 << 30 };

/* Memory for elements. @param[out] elements where the first one is */
static int allocate(const offbeat_partitioned_reduction *of, int64_t count, void **memory, char **elements) {
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_true_extent(of->datatype, &lower, &extent);
    if (rc != MPI_SUCCESS)
        return rc;
    const int64_t span = count > 0 ? (count - 1) * of->extent : 0;
    const int64_t first = lower + (span < 0 ? span : 0), bytes = (span < 0 ? -span : span) + extent;
    *memory = malloc((size_t)bytes + 1);
    if (*memory == NULL)
        return MPI_ERR_NO_MEM;
    *elements = (char *)*memory - first;
    return MPI_SUCCESS;
}

int offbeat_partitioned_reduction_allocate(offbeat_partitioned_reduction *of, int64_t elements,
                                           int64_t largest) {
    MPI_Aint lower, extent;
    int rc = PMPI_Type_get_true_extent(of->datatype, &lower, &extent);
    of->is_dense = lower == 0 && extent == of->extent && extent == of->element_bytes;
    if (rc == MPI_SUCCESS)
        rc = allocate(of, elements, &of->partial_memory, &of->partial);
    if (rc == MPI_SUCCESS && !of->may_swap)
        rc = allocate(of, largest, &of->scratch_memory, &of->scratch);
    return rc;
}

void offbeat_partitioned_reduction_free(offbeat_partitioned_reduction *of) {
    free(of->partial_memory);
    free(of->scratch_memory);
}

/* Copies elements with gaps, which keep their bytes. */
static int copy_sparse(const offbeat_partitioned_reduction *of, const char *from, char *to, int64_t count) {
    const int64_t fitting = COPIED_BYTES / of->element_bytes, at_once = fitting > 0 ? fitting : 1;
    char *packed = malloc((size_t)(at_once * of->element_bytes));
    int rc = packed == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int64_t done = 0; done < count && rc == MPI_SUCCESS; done += at_once) {
        const int64_t some = count - done < at_once ? count - done : at_once;
        const offbeat_partitioned_elements copies = {to + done * of->extent, some, of->datatype};
        int place = 0;
        rc = PMPI_Pack(from + done * of->extent, (int)some, of->datatype, packed,
                       (int)(some * of->element_bytes), &place, MPI_COMM_SELF);
        if (rc == MPI_SUCCESS)
            rc = offbeat_partitioned_unpack(packed, of->element_bytes, of->extent, copies, MPI_COMM_SELF);
    }
    free(packed);
    return rc;
}

static int copy(const offbeat_partitioned_reduction *of, const char *from, char *to, int64_t count) {
    if (of->element_bytes == 0)
        return MPI_SUCCESS;
    if (!of->is_dense)
        return copy_sparse(of, from, to, count);
    memcpy(to, from, (size_t)(count * of->extent));
    return MPI_SUCCESS;
}

/* right = left op right, for each element. */
static int reduce(const offbeat_partitioned_reduction *of, const char *left, char *right, int64_t count) {
    int rc = MPI_SUCCESS;
    for (int64_t done = 0; done < count && rc == MPI_SUCCESS; done += REDUCED_AT_ONCE) {
        const int64_t some = count - done < REDUCED_AT_ONCE ? count - done : REDUCED_AT_ONCE;
        rc = PMPI_Reduce_local(left + done * of->extent, right + done * of->extent, (int)some, of->datatype,
                               of->op);
    }
    return rc;
}

int offbeat_partitioned_reduction_pass(const offbeat_partitioned_reduction *of, int64_t first, int64_t count,
                                       int is_first, char **sum) {
    const int64_t place = first * of->extent;
    const char *own = (of->send != NULL ? of->send : of->result) + place;
    char *partial = of->partial + place;
    *sum = of->partial;
    if (is_first && of->send != NULL) {
        *sum = (char *)of->send;
        return MPI_SUCCESS;
    }
    if (is_first)
        return copy(of, own, partial, count); /* the result comes to where the contribution is */
    if (of->may_swap)
        return reduce(of, own, partial, count);
    int rc = copy(of, own, of->scratch, count);
    if (rc == MPI_SUCCESS)
        rc = reduce(of, partial, of->scratch, count);
    return rc == MPI_SUCCESS ? copy(of, of->scratch, partial, count) : rc;
}

int offbeat_partitioned_reduction_end(const offbeat_partitioned_reduction *of, int64_t first, int64_t count,
                                      int is_first) {
    const int64_t place = first * of->extent;
    char *result = of->result + place;
    int rc = of->send == NULL ? MPI_SUCCESS : copy(of, of->send + place, result, count);
    return is_first || rc != MPI_SUCCESS ? rc : reduce(of, of->partial + place, result, count);
}
