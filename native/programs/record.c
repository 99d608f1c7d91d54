/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "programs/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

static const char *refuse(const char *path, int error) {
    static char message[512];
    snprintf(message, sizeof message, "cannot write %.300s: %s", path, strerror(error));
    return message;
}

/* @return the mapped file, or MAP_FAILED with errno */
static void *map(const char *path, uint64_t bytes) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return MAP_FAILED;
    /* Without space a write to the mapping would end the process by SIGBUS. */
    int error = posix_fallocate(file, 0, (off_t)bytes);
    void *memory = MAP_FAILED;
    if (error == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (error == 0 && memory == MAP_FAILED)
        error = errno;
    close(file);
    errno = error;
    return memory;
}

const char *program_record_open(const char *path, const program_record_header *header,
                                program_record *record) {
    const uint64_t alone_bytes = (uint64_t)(header->phases * header->alone) * sizeof(int64_t);
    const uint64_t iteration_bytes = (uint64_t)header->iterations * sizeof(program_iteration);
    const uint64_t bytes = sizeof *header + alone_bytes + iteration_bytes;
    char *memory = map(path, bytes);
    if (memory == MAP_FAILED)
        return refuse(path, errno);
    memset(memory, 0, bytes); /* every page is there before an iteration is timed */
    *record = (program_record){
        .header = (program_record_header *)memory,
        .alone_ns = (int64_t *)(memory + sizeof *header),
        .iterations = (program_iteration *)(memory + sizeof *header + alone_bytes),
        .bytes = bytes,
    };
    *record->header = *header;
    memcpy(record->header->magic, PROGRAM_RECORD_MAGIC, sizeof record->header->magic);
    return NULL;
}

void program_record_iteration(const program_record *record, int64_t iteration, int64_t end_ns,
                              int64_t communication_ns) {
    program_iteration *entry = &record->iterations[iteration];
    entry->communication_ns = communication_ns;
    __atomic_store_n(&entry->end_ns, end_ns, __ATOMIC_RELEASE);
}

void program_record_close(program_record *record) {
    munmap(record->header, record->bytes);
    *record = (program_record){0};
}
