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

/* --- calls of one request, as the program makes them: the linker finds the function of a tool in front ---
 */

static int number, flag, place;
static MPI_Status status;

static void start(MPI_Request *request) {
    MPI_Start(request);
}

static void start_all(MPI_Request *request) {
    MPI_Startall(1, request);
}

static void wait_one(MPI_Request *request) {
    MPI_Wait(request, &status);
}

static void wait_all(MPI_Request *request) {
    MPI_Waitall(1, request, &status);
}

static void wait_any(MPI_Request *request) {
    MPI_Waitany(1, request, &place, &status);
}

static void wait_some(MPI_Request *request) {
    MPI_Waitsome(1, request, &number, &place, &status);
}

static void test_one(MPI_Request *request) {
    MPI_Test(request, &flag, &status);
}

static void test_all(MPI_Request *request) {
    MPI_Testall(1, request, &flag, &status);
}

static void test_any(MPI_Request *request) {
    MPI_Testany(1, request, &place, &flag, &status);
}

static void test_some(MPI_Request *request) {
    MPI_Testsome(1, request, &number, &place, &status);
}

typedef struct tried {
    const char *name;
    void *function;
    void (*call)(MPI_Request *);
    int is_active; /* whether the request is active afterwards */
} tried;

static const tried all_tried[] = {
    {"MPI_Start", (void *)MPI_Start, start, 1},        {"MPI_Startall", (void *)MPI_Startall, start_all, 1},
    {"MPI_Wait", (void *)MPI_Wait, wait_one, 0},       {"MPI_Waitall", (void *)MPI_Waitall, wait_all, 0},
    {"MPI_Waitany", (void *)MPI_Waitany, wait_any, 0}, {"MPI_Waitsome", (void *)MPI_Waitsome, wait_some, 0},
    {"MPI_Test", (void *)MPI_Test, test_one, 0},       {"MPI_Testall", (void *)MPI_Testall, test_all, 0},
    {"MPI_Testany", (void *)MPI_Testany, test_any, 0}, {"MPI_Testsome", (void *)MPI_Testsome, test_some, 0},
};

/* --- */

static const char *not_reached; /* the first of these functions of which a call did not reach this library */
static void *found;             /* the function that was called instead */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note(const char *name, void *function) {
    if (not_reached != NULL)
        return;
    not_reached = name;
    found = function;
}

/* Whether a call of the function changes a receive from MPI_PROC_NULL, which is complete at once. */
static int is_reached(const tried *one, offbeat_prequest own, MPI_Request *handle) {
    if (!one->is_active)
        offbeat_pstart(&own);
    one->call(handle);
    const int is_reached = atomic_load(&own->is_active) == one->is_active;
    if (atomic_load(&own->is_active))
        offbeat_pwait(&own, MPI_STATUS_IGNORE);
    return is_reached;
}

/* The call frees the request only if it reaches this library. */
static void try_free(offbeat_prequest own, MPI_Request handle) {
    const MPI_Request kept = handle;
    MPI_Request_free(&handle);
    if (offbeat_preload_own(kept) == OFFBEAT_PREQUEST_NULL)
        return;
    note("MPI_Request_free", (void *)MPI_Request_free);
    offbeat_preload_handle_forget(kept);
    offbeat_prequest_free(&own);
}

static void try_all(void) {
    static char nothing;
    offbeat_prequest own = OFFBEAT_PREQUEST_NULL;
    MPI_Request handle = MPI_REQUEST_NULL;
    if (offbeat_precv_init(&nothing, 1, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &own) !=
        MPI_SUCCESS)
        return;
    if (offbeat_preload_handle_create(own, &handle) != MPI_SUCCESS) {
        offbeat_prequest_free(&own);
        return;
    }
    for (size_t i = 0; i < sizeof all_tried / sizeof *all_tried; i++)
        if (!is_reached(&all_tried[i], own, &handle))
            note(all_tried[i].name, all_tried[i].function);
    try_free(own, handle);
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
        "%s: %s does not reach liboffbeat-partitioned-preload.so, because a tool in front of it (in %s) "
        "calls "
        "the PMPI function; put the tool behind this library in LD_PRELOAD, or run without it",
        function, not_reached, file_of(found));
}
