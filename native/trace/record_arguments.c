/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/record_arguments.h"

#include "trace/trace_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- counts --- */

int64_t offbeat_tracer_count_at(const void *counts, offbeat_tracer_array_format arrays, int i) {
    if (counts == NULL)
        return 0;
    return arrays.count_bytes == (int)sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
}

static int64_t size_at(const void *types, offbeat_tracer_array_format arrays, int i) {
    MPI_Count size = 0;
    MPI_Datatype type =
        arrays.is_fortran ? PMPI_Type_f2c(((const MPI_Fint *)types)[i]) : ((const MPI_Datatype *)types)[i];
    return type != MPI_DATATYPE_NULL && offbeat_tracer_type_size(type, &size) == MPI_SUCCESS ? size : 0;
}

int64_t offbeat_tracer_record_blocks(offbeat_trace_record *record, const void *counts, const void *types,
                                     uint64_t type_bytes, offbeat_tracer_array_format arrays, int number) {
    uint64_t sum = 0, largest = 0;
    uint32_t empty = 0;
    for (int i = 0; i < number; i++) {
        const int64_t count = offbeat_tracer_count_at(counts, arrays, i);
        const uint64_t element_bytes =
            types != NULL && count > 0 ? (uint64_t)size_at(types, arrays, i) : type_bytes;
        const uint64_t bytes = count > 0 ? (uint64_t)count * element_bytes : 0;
        empty += bytes == 0;
        largest = bytes > largest ? bytes : largest;
        sum += bytes;
    }
    record->blocks = number > 0 ? (uint32_t)number : 0;
    record->empty_blocks = empty;
    record->largest_bytes = largest;
    return (int64_t)sum;
}

/* --- datatypes and operations --- */

/* A handle and its meaning when it was defined. A handle of the program's own may get another meaning later,
 * which is then a definition of its own. */
typedef struct defined_handle {
    offbeat_tracer_cached_handle handle;
    int is_user_defined;
    struct defined_handle *next;
} defined_handle;

enum { CHAINS = 256 };

typedef struct handle_table {
    defined_handle *chains[CHAINS];
    uint32_t count;
} handle_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static handle_table types, operations;

/* With the lock held. @return the id, 0 if all are used; *is_new tells whether the handle must be defined */
static uint16_t get_id(handle_table *table, const offbeat_tracer_cached_handle *handle, int is_user_defined,
                       int *is_new) {
    defined_handle **chain = &table->chains[offbeat_tracer_hash_slot(handle->handle, CHAINS)];
    *is_new = 0;
    for (const defined_handle *defined = *chain; defined != NULL; defined = defined->next)
        if (defined->handle.handle == handle->handle && defined->handle.size_bytes == handle->size_bytes &&
            defined->is_user_defined == is_user_defined)
            return defined->handle.id;
    defined_handle *new_handle = table->count < UINT16_MAX ? malloc(sizeof *new_handle) : NULL;
    if (new_handle == NULL)
        return 0;
    *new_handle = (defined_handle){*handle, is_user_defined, *chain};
    new_handle->handle.id = (uint16_t)++table->count;
    *chain = new_handle;
    *is_new = 1;
    return new_handle->handle.id;
}

static void define_type(MPI_Datatype type, const offbeat_tracer_cached_handle *handle, int is_derived) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (PMPI_Type_get_name(type, name, &length) != MPI_SUCCESS)
        length = 0;
    offbeat_trace_datatype definition = {.id = handle->id,
                                         .is_derived = is_derived != 0,
                                         .name_bytes = (uint32_t)length,
                                         .size_bytes = handle->size_bytes};
    offbeat_tracer_define(OFFBEAT_TRACE_DATATYPE, &definition, sizeof definition, name, (size_t)length);
}

static int is_derived(MPI_Datatype type) {
    int integers, addresses, inner, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &inner, &combiner);
    return combiner != MPI_COMBINER_NAMED;
}

offbeat_tracer_cached_handle offbeat_tracer_datatype_find(offbeat_tracer_thread *thread, MPI_Datatype type) {
    offbeat_tracer_cached_handle handle = {.handle = (uintptr_t)type};
    MPI_Count size = 0;
    int is_new;
    if (type == MPI_DATATYPE_NULL || offbeat_tracer_type_size(type, &size) != MPI_SUCCESS || size < 0)
        return handle;
    const int needs_definition = is_derived(type);
    handle.size_bytes = (uint64_t)size;
    pthread_mutex_lock(&lock);
    handle.id = get_id(&types, &handle, needs_definition, &is_new);
    if (is_new)
        define_type(type, &handle, needs_definition);
    pthread_mutex_unlock(&lock);
    if (!needs_definition)
        thread->types[offbeat_tracer_hash_slot(handle.handle, OFFBEAT_TRACER_CACHED_TYPES)] = handle;
    return handle;
}

/* The name of a predefined operation; empty for others. */
static const char *name_of(MPI_Op op) {
    const struct {
        MPI_Op op;
        const char *name;
    } predefined_operations[] = {
        {MPI_SUM, "MPI_SUM"},         {MPI_MIN, "MPI_MIN"},       {MPI_MAX, "MPI_MAX"},
        {MPI_PROD, "MPI_PROD"},       {MPI_LAND, "MPI_LAND"},     {MPI_BAND, "MPI_BAND"},
        {MPI_LOR, "MPI_LOR"},         {MPI_BOR, "MPI_BOR"},       {MPI_LXOR, "MPI_LXOR"},
        {MPI_BXOR, "MPI_BXOR"},       {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
        {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"}};
    for (size_t i = 0; i < sizeof predefined_operations / sizeof *predefined_operations; i++)
        if (predefined_operations[i].op == op)
            return predefined_operations[i].name;
    return "";
}

static void define_operation(const offbeat_tracer_cached_handle *handle, const char *name) {
    offbeat_trace_operation definition = {.id = handle->id,
                                          .is_own = *name == '\0',
                                          .commutes = (uint16_t)handle->size_bytes,
                                          .name_bytes = (uint16_t)strlen(name)};
    offbeat_tracer_define(OFFBEAT_TRACE_OPERATION, &definition, sizeof definition, name, strlen(name));
}

offbeat_tracer_cached_handle offbeat_tracer_operation_find(offbeat_tracer_thread *thread, MPI_Op op) {
    offbeat_tracer_cached_handle handle = {.handle = (uintptr_t)op};
    int commutes = 0, is_new;
    if (op == MPI_OP_NULL || PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS)
        return handle;
    const char *name = name_of(op);
    const int is_user_defined = *name == '\0';
    handle.size_bytes = commutes != 0;
    pthread_mutex_lock(&lock);
    handle.id = get_id(&operations, &handle, is_user_defined, &is_new);
    if (is_new)
        define_operation(&handle, name);
    pthread_mutex_unlock(&lock);
    if (!is_user_defined)
        thread->operations[offbeat_tracer_hash_slot(handle.handle, OFFBEAT_TRACER_CACHED_OPERATIONS)] =
            handle;
    return handle;
}
