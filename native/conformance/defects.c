/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "conformance/defects.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last receive that was initialised. */
static struct {
    offbeat_prequest request;
    unsigned char *buffer;
    size_t bytes; /* of a partition */
    int partitions;
} received;

static offbeat_prequest last_send;
static int initialisations;

static int has(const char *defect) {
    const char *chosen = getenv("CONFORMANCE_DEFECT");
    return chosen && strcmp(chosen, defect) == 0;
}

static int changed_tag(int tag) {
    return has("tags") ? tag / 2 * 2 : tag;
}

int defective_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                         int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    initialisations++;
    if (has("wildcard"))
        PMPI_Send(NULL, 0, MPI_BYTE, dest, tag, comm);
    int code =
        offbeat_psend_init(buffer, partitions, count, datatype, dest, changed_tag(tag), comm, info, request);
    last_send = *request;
    return code;
}

int defective_precv_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                         int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    int size, code = offbeat_precv_init(buffer, partitions, count, datatype, source, changed_tag(tag), comm,
                                        info, request);
    PMPI_Type_size(datatype, &size);
    received.request = *request;
    received.buffer = buffer;
    received.bytes = (size_t)count * (size_t)size;
    received.partitions = partitions;
    return code;
}

int defective_pstartall(int count, offbeat_prequest requests[]) {
    while (has("hang") && count > 1)
        pause();
    return offbeat_pstartall(count, requests);
}

/* The code that a call returns: the defect hides errors. */
static int reported(int code) {
    return has("silent") ? MPI_SUCCESS : code;
}

int defective_pready(int partition, offbeat_prequest request) {
    return reported(offbeat_pready(partition, request));
}

int defective_pcancel(offbeat_prequest *request) {
    return reported(offbeat_pcancel(request));
}

int defective_pready_range(int low, int high, offbeat_prequest request) {
    return has("error") ? MPI_ERR_OTHER : reported(offbeat_pready_range(low, high, request));
}

int defective_pready_list(int length, const int partitions[], offbeat_prequest request) {
    if (has("crash"))
        raise(SIGSEGV);
    if (has("worn") && initialisations > 3)
        return MPI_ERR_OTHER;
    return reported(offbeat_pready_list(length, partitions, request));
}

int defective_parrived(offbeat_prequest request, int partition, int *flag) {
    int code = offbeat_parrived(request, partition, flag);
    *flag |= has("arrived");
    *flag &= !(has("never") && partition > 0 && partition == received.partitions - 1);
    return reported(code);
}

int defective_ptest(offbeat_prequest *request, int *flag, MPI_Status *status) {
    int code = offbeat_ptest(request, flag, status);
    *flag |= has("early") && *request == last_send;
    return code;
}

static void swap_partitions(void) {
    for (size_t i = 0; i < received.bytes; i++) {
        const unsigned char kept = received.buffer[i];
        received.buffer[i] = received.buffer[received.bytes + i];
        received.buffer[received.bytes + i] = kept;
    }
}

int defective_pwait(offbeat_prequest *request, MPI_Status *status) {
    int code = offbeat_pwait(request, status);
    if (has("swapped") && *request == received.request && received.partitions > 1)
        swap_partitions();
    if (has("status"))
        status->MPI_SOURCE = MPI_UNDEFINED;
    return reported(code);
}
