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
} last_receive;

static offbeat_prequest last_send;
static int initialisations;

static int has_defect(const char *defect) {
    const char *chosen_defect = getenv("CONFORMANCE_DEFECT");
    return chosen_defect && strcmp(chosen_defect, defect) == 0;
}

static int changed_tag(int tag) {
    return has_defect("tags") ? tag / 2 * 2 : tag;
}

int defective_psend_init(const void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                         int tag, MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    initialisations++;
    if (has_defect("wildcard"))
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
    last_receive.request = *request;
    last_receive.buffer = buffer;
    last_receive.bytes = (size_t)count * (size_t)size;
    last_receive.partitions = partitions;
    return code;
}

int defective_pstartall(int count, offbeat_prequest requests[]) {
    while (has_defect("hang") && count > 1)
        pause();
    return offbeat_pstartall(count, requests);
}

/* The code that a call returns: the defect hides errors. */
static int report_code(int code) {
    return has_defect("silent") ? MPI_SUCCESS : code;
}

int defective_pready(int partition, offbeat_prequest request) {
    return report_code(offbeat_pready(partition, request));
}

int defective_pcancel(offbeat_prequest *request) {
    return report_code(offbeat_pcancel(request));
}

int defective_pready_range(int low, int high, offbeat_prequest request) {
    return has_defect("error") ? MPI_ERR_OTHER : report_code(offbeat_pready_range(low, high, request));
}

int defective_pready_list(int length, const int partitions[], offbeat_prequest request) {
    if (has_defect("crash"))
        raise(SIGSEGV);
    if (has_defect("worn") && initialisations > 3)
        return MPI_ERR_OTHER;
    return report_code(offbeat_pready_list(length, partitions, request));
}

int defective_parrived(offbeat_prequest request, int partition, int *flag) {
    int code = offbeat_parrived(request, partition, flag);
    *flag |= has_defect("arrived");
    *flag &= !(has_defect("never") && partition > 0 && partition == last_receive.partitions - 1);
    return report_code(code);
}

int defective_ptest(offbeat_prequest *request, int *flag, MPI_Status *status) {
    int code = offbeat_ptest(request, flag, status);
    *flag |= has_defect("early") && *request == last_send;
    return code;
}

static void swap_partitions(void) {
    for (size_t i = 0; i < last_receive.bytes; i++) {
        const unsigned char first_byte = last_receive.buffer[i];
        last_receive.buffer[i] = last_receive.buffer[last_receive.bytes + i];
        last_receive.buffer[last_receive.bytes + i] = first_byte;
    }
}

int defective_pwait(offbeat_prequest *request, MPI_Status *status) {
    int code = offbeat_pwait(request, status);
    if (has_defect("swapped") && *request == last_receive.request && last_receive.partitions > 1)
        swap_partitions();
    if (has_defect("status"))
        status->MPI_SOURCE = MPI_UNDEFINED;
    return report_code(code);
}
