/* SPDX-License-Identifier: BSD-3-Clause */
/** @file request.c  Checks the request of a call, and creates, runs and frees the call: collectives.h. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "call.h"

/* Formats an error message as printf does, and lets why point to it (static storage). @return code */
__attribute__((format(printf, 3, 4))) static int refuse(int code, const char **why, const char *format, ...) {
    static char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    *why = message;
    return code;
}

static const char *or_empty(const char *name) {
    return name == NULL ? "" : name;
}

static int resolve_collective(const offbeat_request *request, offbeat_call *call, const char **why) {
    call->collective = offbeat_collective_find(request->collective);
    if (call->collective == NULL || !call->collective->is_measured)
        return refuse(MPI_ERR_ARG, why, "'%s' is not a collective in the table",
                      or_empty(request->collective));
    call->run = call->collective->run;
    return MPI_SUCCESS;
}

static int resolve_processes(const offbeat_request *request, offbeat_call *call, const char **why) {
    call->comm = request->comm;
    int code = MPI_Comm_size(call->comm, &call->p);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(call->comm, &call->rank);
    if (code != MPI_SUCCESS)
        return refuse(code, why, "%s: the communicator has no size or rank", request->collective);
    call->root = request->root;
    if (call->collective->root != OFFBEAT_NO_ROOT && (call->root < 0 || call->root >= call->p))
        return refuse(MPI_ERR_ARG, why, "%s: root %d is not a rank of %d processes; give 0 to %d",
                      request->collective, call->root, call->p, call->p - 1);
    return MPI_SUCCESS;
}

static int resolve_element(const offbeat_request *request, offbeat_call *call, const char **why) {
    call->datatype = offbeat_datatype_find(request->datatype);
    if (call->datatype == OFFBEAT_DATATYPES)
        return refuse(
            MPI_ERR_ARG, why,
            "%s: '%s' is not a datatype; give byte, int, long, float, double, affine, odd, wide or gapped",
            request->collective, or_empty(request->datatype));
    call->op = OFFBEAT_OPS;
    if (!offbeat_collective_is_reduction(call->collective))
        return MPI_SUCCESS;
    call->op = offbeat_op_find(request->op);
    if (call->op == OFFBEAT_OPS)
        return refuse(
            MPI_ERR_ARG, why,
            "%s: '%s' is not an operation; give sum, prod, max, min, band, bor, bxor, affine or user_sum",
            request->collective, or_empty(request->op));
    if (!offbeat_op_fits(call->op, call->datatype))
        return refuse(MPI_ERR_ARG, why, "%s: %s is not defined on %s; %s", request->collective, request->op,
                      request->datatype,
                      call->op == OFFBEAT_COMPOSE || call->datatype == OFFBEAT_AFFINE
                          ? "the operation affine and the datatype affine go together and with nothing else"
                      : call->op == OFFBEAT_USER_SUM ? "user_sum needs double or gapped"
                      : call->datatype > OFFBEAT_AFFINE
                          ? "the datatypes odd and wide have no operation, gapped has user_sum"
                          : "bitwise operations need byte, int or long");
    return MPI_SUCCESS;
}

/** Checks that the collective has the variant, and applies it to this process. */
static int resolve_variant(const offbeat_variant *variant, offbeat_call *call, const char **why) {
    const offbeat_collective *row = call->collective;
    int has_both_buffers = row->send != OFFBEAT_NO_BLOCK && row->receive != OFFBEAT_NO_BLOCK;
    int is_uneven = row->counts == OFFBEAT_UNEVEN_COUNTS;
    int has_displacements = is_uneven && row->receive == OFFBEAT_BLOCK_PER_RANK;
    call->variant = *variant;
    if (variant->in_place && !has_both_buffers)
        return refuse(MPI_ERR_ARG, why, "%s: MPI defines no call in place", row->name);
    if (variant->counts >= OFFBEAT_COUNTS)
        return refuse(MPI_ERR_ARG, why, "%s: counts must be even, uneven, reversed or none", row->name);
    if ((variant->counts == OFFBEAT_COUNTS_UNEVEN && !is_uneven) ||
        (variant->counts == OFFBEAT_COUNTS_REVERSED && !has_displacements))
        return refuse(MPI_ERR_ARG, why, "%s: its counts are the same for all processes, and blocks adjoin",
                      row->name);
    int is_affected = variant->in_place && (row->root == OFFBEAT_NO_ROOT || call->rank == call->root);
    call->keeps_own_block = is_affected && row->root == OFFBEAT_ROOT_SENDS;
    call->is_in_place = is_affected && row->root != OFFBEAT_ROOT_SENDS;
    return MPI_SUCCESS;
}

/** Number of blocks in a buffer of this process. */
static size_t block_count(offbeat_blocks length, int at_root, const offbeat_call *call) {
    if (length == OFFBEAT_NO_BLOCK || (at_root && call->rank != call->root))
        return 0;
    return length == OFFBEAT_ONE_BLOCK ? 1 : (size_t)call->p;
}

/** Number of blocks in the longest buffer of any process. */
static size_t max_block_count(const offbeat_call *call) {
    const offbeat_collective *row = call->collective;
    int per_rank = row->send == OFFBEAT_BLOCK_PER_RANK || row->receive == OFFBEAT_BLOCK_PER_RANK;
    return per_rank ? (size_t)call->p : 1;
}

static int check_memory(const offbeat_call *call, const char **why) {
    size_t extent = offbeat_datatype_extent(call->datatype);
    double needed_bytes =
        (double)(call->send_blocks + call->receive_blocks) * (double)call->count * (double)extent;
    double available = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (needed_bytes > available)
        return refuse(MPI_ERR_NO_MEM, why,
                      "%s: the buffers of rank %d would take %.0f MiB, this machine has %.0f MiB of memory",
                      call->collective->name, call->rank, needed_bytes / 0x1p20, available / 0x1p20);
    return MPI_SUCCESS;
}

static int resolve_size(const offbeat_request *request, offbeat_call *call, const char **why) {
    size_t extent = offbeat_datatype_extent(call->datatype);
    const char *datatype = offbeat_datatype_name(call->datatype);
    if (request->bytes == 0)
        return refuse(MPI_ERR_ARG, why,
                      "%s: a message of 0 bytes has nothing to check; give a multiple of %zu",
                      request->collective, extent);
    if (request->bytes % extent != 0)
        return refuse(MPI_ERR_ARG, why,
                      "%s: %zu bytes are not a whole number of %s elements; give a multiple of %zu",
                      request->collective, request->bytes, datatype, extent);
    size_t count = request->bytes / extent;
    size_t max_count = (size_t)INT_MAX / max_block_count(call);
    if (call->variant.counts == OFFBEAT_COUNTS_UNEVEN || call->variant.counts == OFFBEAT_COUNTS_REVERSED)
        max_count /= 2;
    if (count > max_count)
        return refuse(
            MPI_ERR_ARG, why,
            "%s: %zu bytes with %d processes need a buffer of more than %d %s elements; give at most"
            " %zu bytes",
            request->collective, request->bytes, call->p, INT_MAX, datatype, max_count * extent);
    call->count = call->variant.counts == OFFBEAT_COUNTS_NONE ? 0 : (int)count;
    call->send_blocks =
        block_count(call->collective->send, call->collective->root == OFFBEAT_ROOT_SENDS, call);
    call->receive_blocks =
        block_count(call->collective->receive, call->collective->root == OFFBEAT_ROOT_RECEIVES, call);
    return check_memory(call, why);
}

static int resolve_request(const offbeat_request *request, const offbeat_variant *variant, offbeat_call *call,
                           const char **why) {
    int code = resolve_collective(request, call, why);
    if (code == MPI_SUCCESS)
        code = resolve_processes(request, call, why);
    if (code == MPI_SUCCESS)
        code = resolve_variant(variant, call, why);
    if (code != MPI_SUCCESS)
        return code;
    if (call->collective->result == OFFBEAT_NO_RESULT) {
        call->datatype = OFFBEAT_BYTE;
        call->op = OFFBEAT_OPS;
        if (request->bytes != 0)
            return refuse(MPI_ERR_ARG, why, "%s: it moves no data, so its size is 0 bytes, not %zu",
                          request->collective, request->bytes);
        return MPI_SUCCESS;
    }
    code = resolve_element(request, call, why);
    return code == MPI_SUCCESS ? resolve_size(request, call, why) : code;
}

/** The count argument of this process. */
static int own_count(const offbeat_call *call) {
    return call->collective->counts == OFFBEAT_UNEVEN_COUNTS ? call->counts[call->rank] : call->count;
}

/** Sets the arguments of the MPI function; with the variant null_ignored, arguments that MPI ignores on this
 * process have null values. */
static void set_arguments(offbeat_call *call) {
    offbeat_arguments *arguments = &call->arguments;
    int hides_ignored = call->variant.null_ignored;
    int has_no_send = call->send_blocks == 0, has_no_receive = call->receive_blocks == 0;
    *arguments = (offbeat_arguments){call->send, call->receive, own_count(call),     call->count, call->type,
                                     call->type, call->counts,  call->displacements, NULL,        NULL};
    if (call->is_in_place)
        arguments->send = MPI_IN_PLACE;
    if (call->keeps_own_block)
        arguments->receive = MPI_IN_PLACE;
    if (hides_ignored && (has_no_send || call->is_in_place)) {
        arguments->send_count = 0;
        arguments->send_type = MPI_DATATYPE_NULL;
        arguments->send_counts = arguments->send_displacements = NULL;
    }
    if (hides_ignored && (has_no_receive || call->keeps_own_block)) {
        arguments->receive_count = 0;
        arguments->receive_type = MPI_DATATYPE_NULL;
    }
}

int offbeat_call_create(const offbeat_request *request, offbeat_call **call, const char **why) {
    const offbeat_variant default_variant = {0};
    return offbeat_call_create_variant(request, &default_variant, call, why);
}

int offbeat_call_create_variant(const offbeat_request *request, const offbeat_variant *variant,
                                offbeat_call **call, const char **why) {
    *call = NULL;
    offbeat_call *new_call = calloc(1, sizeof *new_call);
    if (new_call == NULL)
        return refuse(MPI_ERR_NO_MEM, why, "no memory for a call");
    new_call->type = MPI_DATATYPE_NULL;
    new_call->operation = MPI_OP_NULL;
    int code = resolve_request(request, variant, new_call, why);
    if (code == MPI_SUCCESS) {
        code = offbeat_handles_create(new_call);
        if (code != MPI_SUCCESS)
            refuse(code, why, "%s: MPI could not create the datatype or operation", request->collective);
    }
    if (code == MPI_SUCCESS) {
        code = offbeat_buffers_create(new_call);
        if (code != MPI_SUCCESS)
            refuse(code, why, "%s: the system has no memory for buffers of %zu bytes per process",
                   request->collective, request->bytes);
    }
    if (code == MPI_SUCCESS) {
        set_arguments(new_call);
        *call = new_call;
    } else
        offbeat_call_free(&new_call);
    return code;
}

int offbeat_call_run(offbeat_call *call) {
    return call->run(call);
}

void offbeat_call_free(offbeat_call **call) {
    if (*call == NULL)
        return;
    offbeat_handles_free(*call);
    offbeat_buffers_free(*call);
    free(*call);
    *call = NULL;
}
