/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/describe.h"

int64_t offbeat_count_at(const void *counts, offbeat_arrays arrays, int i) {
    if (counts == NULL)
        return 0;
    return arrays.count_bytes == (int)sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
}

int64_t offbeat_sum_of(const void *counts, offbeat_arrays arrays, int number) {
    int64_t sum = 0;
    for (int i = 0; i < number; i++)
        sum += offbeat_count_at(counts, arrays, i);
    return sum;
}

static int64_t size_at(const void *types, offbeat_arrays arrays, int i) {
    MPI_Count size = 0;
    MPI_Datatype type =
        arrays.are_fortrans ? PMPI_Type_f2c(((const MPI_Fint *)types)[i]) : ((const MPI_Datatype *)types)[i];
    return type != MPI_DATATYPE_NULL && offbeat_type_size(type, &size) == MPI_SUCCESS ? size : 0;
}

int64_t offbeat_bytes_of_types(const void *counts, const void *types, offbeat_arrays arrays, int number) {
    int64_t sum = 0;
    for (int i = 0; i < number; i++) {
        int64_t count = offbeat_count_at(counts, arrays, i);
        if (count > 0)
            sum += count * size_at(types, arrays, i);
    }
    return sum;
}
