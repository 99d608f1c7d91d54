/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* dladdr */
#include "partitioned_preload/tools.h"

#include "partitioned/errors.h"
#include "partitioned/request.h"
#include "partitioned_preload/handles.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static int number, flag, position;
static MPI_Status status;

/* A call of one request, as the program makes the call: the linker finds the function of a tool in front. */
#define CALL(name, ...)                                                                                      \
    static void call_##name(MPI_Request *request) {                                                          \
        name(__VA_ARGS__);                                                                                   \
    }

CALL(MPI_Start, request)
CALL(MPI_Startall, 1, request)
CALL(MPI_Wait, request, &status)
CALL(MPI_Waitall, 1, request, &status)
CALL(MPI_Waitany, 1, request, &position, &status)
CALL(MPI_Waitsome, 1, request, &number, &position, &status)
CALL(MPI_Test, request, &flag, &status)
CALL(MPI_Testall, 1, request, &flag, &status)
CALL(MPI_Testany, 1, request, &position, &flag, &status)
CALL(MPI_Testsome, 1, request, &number, &position, &status)

typedef struct tried_call {
    const char *name;
    void *function;
    void (*call)(MPI_Request *);
    int is_active; /* whether the request is active afterwards */
} tried_call;

#define STARTS(name) {#name, (void *)(name), call_##name, 1}
#define COMPLETES(name) {#name, (void *)(name), call_##name, 0}

static const tried_call tried_calls[] = {
    STARTS(MPI_Start),      STARTS(MPI_Startall),    COMPLETES(MPI_Wait), COMPLETES(MPI_Waitall),
    COMPLETES(MPI_Waitany), COMPLETES(MPI_Waitsome), COMPLETES(MPI_Test), COMPLETES(MPI_Testall),
    COMPLETES(MPI_Testany), COMPLETES(MPI_Testsome),
};

static const char *not_reached; /* the first of these functions of which a call did not reach this library */
static void *called_function;   /* the function that was called instead */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note(const char *name, void *function) {
    if (not_reached != NULL)
        return;
    not_reached = name;
    called_function = function;
}

/* Whether a call of the function changes a receive from MPI_PROC_NULL, which is complete at once. */
static int is_reached(const tried_call *trial, offbeat_prequest prequest, MPI_Request *handle) {
    if (!trial->is_active)
        offbeat_pstart(&prequest);
    trial->call(handle);
    const int is_reached = atomic_load(&prequest->is_active) == trial->is_active;
    if (atomic_load(&prequest->is_active))
        offbeat_pwait(&prequest, MPI_STATUS_IGNORE);
    return is_reached;
}

/* The call frees the request only if it reaches this library. */
static void try_free(offbeat_prequest prequest, MPI_Request handle) {
    const MPI_Request first_handle = handle;
    MPI_Request_free(&handle);
    if (offbeat_preload_partitioned_request(first_handle) == OFFBEAT_PREQUEST_NULL)
        return;
    note("MPI_Request_free", (void *)MPI_Request_free);
    offbeat_preload_handle_forget(first_handle);
    offbeat_prequest_free(&prequest);
}

static void try_all(void) {
    static char empty_buffer;
    offbeat_prequest prequest = OFFBEAT_PREQUEST_NULL;
    MPI_Request handle = MPI_REQUEST_NULL;
    if (offbeat_precv_init(&empty_buffer, 1, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &prequest) != MPI_SUCCESS)
        return;
    if (offbeat_preload_handle_create(prequest, &handle) != MPI_SUCCESS) {
        offbeat_prequest_free(&prequest);
        return;
    }
    for (size_t i = 0; i < sizeof tried_calls / sizeof *tried_calls; i++)
        if (!is_reached(&tried_calls[i], prequest, &handle))
            note(tried_calls[i].name, tried_calls[i].function);
    try_free(prequest, handle);
}

/* The file of the function, without its directory: sentences of errors are short. */
static const char *file_of(void *function) {
    Dl_info info;
    if (!dladdr(function, &info) || info.dli_fname == NULL)
        return "an unknown file";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash == NULL ? info.dli_fname : slash + 1;
}

int offbeat_preload_check_tools(const char *function, MPI_Comm comm) {
    pthread_once(&once, try_all);
    if (not_reached == NULL)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(
        comm, MPI_ERR_OTHER,
        "%s: %s does not reach liboffbeat-partitioned-preload.so, because a tool in front of it "
        "(in %s) calls the PMPI function; put the tool behind this library in LD_PRELOAD, or run without it",
        function, not_reached, file_of(called_function));
}
