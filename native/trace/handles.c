/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/handles.h"

#include "trace/define.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What was defined: a handle with what it stood for then. A handle of a program's own may stand for another
 * thing later, which is defined anew. */
typedef struct known_handle {
    offbeat_seen_handle seen;
    int is_own;
    struct known_handle *next;
} known_handle;

enum { CHAINS = 256 };

typedef struct known_handles {
    known_handle *chains[CHAINS];
    uint32_t count;
} known_handles;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known_handles types, operations;

/* With the lock held. @return the id, 0 where none is left; *is_new says whether it must be defined */
static uint16_t number(known_handles *handles, const offbeat_seen_handle *seen, int is_own, int *is_new) {
    known_handle **chain = &handles->chains[offbeat_lane_place(seen->handle, CHAINS)];
    *is_new = 0;
    for (const known_handle *known = *chain; known != NULL; known = known->next)
        if (known->seen.handle == seen->handle && known->seen.size_bytes == seen->size_bytes &&
            known->is_own == is_own)
            return known->seen.id;
    known_handle *made = handles->count < UINT16_MAX ? malloc(sizeof *made) : NULL;
    if (made == NULL)
        return 0;
    *made = (known_handle){*seen, is_own, *chain};
    made->seen.id = (uint16_t)++handles->count;
    *chain = made;
    *is_new = 1;
    return made->seen.id;
}

static void define_type(MPI_Datatype type, const offbeat_seen_handle *seen, int is_derived) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (PMPI_Type_get_name(type, name, &length) != MPI_SUCCESS)
        length = 0;
    offbeat_trace_datatype definition = {.id = seen->id,
                                         .is_derived = is_derived != 0,
                                         .name_bytes = (uint32_t)length,
                                         .size_bytes = seen->size_bytes};
    offbeat_define(OFFBEAT_TRACE_DATATYPE, &definition, sizeof definition, name, (size_t)length);
}

static int is_derived(MPI_Datatype type) {
    int integers, addresses, inner, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &inner, &combiner);
    return combiner != MPI_COMBINER_NAMED;
}

offbeat_seen_handle offbeat_type_find(offbeat_lane *lane, MPI_Datatype type) {
    offbeat_seen_handle seen = {.handle = (uintptr_t)type};
    MPI_Count size = 0;
    int is_new;
    if (type == MPI_DATATYPE_NULL || offbeat_type_size(type, &size) != MPI_SUCCESS || size < 0)
        return seen;
    const int derived = is_derived(type);
    seen.size_bytes = (uint64_t)size;
    pthread_mutex_lock(&lock);
    seen.id = number(&types, &seen, derived, &is_new);
    if (is_new)
        define_type(type, &seen, derived);
    pthread_mutex_unlock(&lock);
    if (!derived)
        lane->types[offbeat_lane_place(seen.handle, OFFBEAT_SEEN_TYPES)] = seen;
    return seen;
}

/* The name of one of MPI's own operations; empty for others. */
static const char *name_of(MPI_Op operation) {
    const struct {
        MPI_Op operation;
        const char *name;
    } known[] = {{MPI_SUM, "MPI_SUM"},         {MPI_MIN, "MPI_MIN"},       {MPI_MAX, "MPI_MAX"},
                 {MPI_PROD, "MPI_PROD"},       {MPI_LAND, "MPI_LAND"},     {MPI_BAND, "MPI_BAND"},
                 {MPI_LOR, "MPI_LOR"},         {MPI_BOR, "MPI_BOR"},       {MPI_LXOR, "MPI_LXOR"},
                 {MPI_BXOR, "MPI_BXOR"},       {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
                 {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].operation == operation)
            return known[i].name;
    return "";
}

offbeat_seen_handle offbeat_operation_find(offbeat_lane *lane, MPI_Op operation) {
    offbeat_seen_handle seen = {.handle = (uintptr_t)operation};
    int commutes = 0, is_new;
    if (operation == MPI_OP_NULL || PMPI_Op_commutative(operation, &commutes) != MPI_SUCCESS)
        return seen;
    const char *name = name_of(operation);
    const int is_own = *name == '\0';
    seen.size_bytes = commutes != 0;
    pthread_mutex_lock(&lock);
    seen.id = number(&operations, &seen, is_own, &is_new);
    if (is_new) {
        offbeat_trace_operation definition = {.id = seen.id,
                                              .is_own = (uint16_t)is_own,
                                              .commutes = commutes != 0,
                                              .name_bytes = (uint16_t)strlen(name)};
        offbeat_define(OFFBEAT_TRACE_OPERATION, &definition, sizeof definition, name, strlen(name));
    }
    pthread_mutex_unlock(&lock);
    if (!is_own)
        lane->operations[offbeat_lane_place(seen.handle, OFFBEAT_SEEN_OPERATIONS)] = seen;
    return seen;
}
