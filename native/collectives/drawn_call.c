/* SPDX-License-Identifier: BSD-3-Clause */
#include "drawn_call.h"

#include "call.h"
#include "datatype_check.h"
#include "drawn_buffer.h"

#include <stdlib.h>
#include <string.h>

/* Guard bytes of send and of receive buffers. */
enum { SENT_GUARD = 0x5a, RECEIVED_GUARD = 0xa5 };

struct offbeat_drawn_call {
    const offbeat_collective *row;
    offbeat_drawn_request request;
    int p, rank;
    offbeat_operator op;
    int is_reduction;
    int uses_send,
        uses_receive; /* whether MPI reads the send buffer, and reads or writes the receive buffer */
    int is_in_place;  /* the input of this process is in its receive buffer */
    int type_count;   /* datatypes of each side: p if the call has a datatype for each rank */
    offbeat_typed_text *send_types, *receive_types;
    MPI_Datatype *handles; /* two lists: sent and received */
    offbeat_drawn_buffer send, receive;
    int *counts; /* four lists: counts and displacements, sent and received */
    offbeat_call arguments;
};

/* --- the user-defined operations --- */

/* The call whose operation runs: MPI passes the function no more than the handle of the datatype. */
static const offbeat_drawn_call *running_call;

static void reduce_elements(void *input, void *inout, int *count, MPI_Datatype *handle) {
    const offbeat_typed_text *type = running_call->send_types;
    (void)handle;
    for (int i = 0; i < *count; i++)
        for (size_t j = 0; j < type->count; j++) {
            const offbeat_basic_type *basic = type->entries[j].basic;
            MPI_Aint offset = i * type->extent + type->entries[j].displacement;
            unsigned char *right = (unsigned char *)inout + offset;
            offbeat_numbers left = offbeat_numbers_load(basic, (const unsigned char *)input + offset);
            left = offbeat_combine(running_call->op, basic, left, offbeat_numbers_load(basic, right));
            offbeat_numbers_store(basic, left, right);
        }
}

static int create_operation(offbeat_operator op, MPI_Op *operation) {
    const MPI_Op predefined_operators[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                                           MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    if (offbeat_operator_is_user_defined(op))
        return MPI_Op_create(reduce_elements, op != OFFBEAT_OPERATOR_AFFINE, operation);
    *operation = predefined_operators[op];
    return MPI_SUCCESS;
}

static const char *resolve_operation(offbeat_drawn_call *call) {
    const offbeat_typed_text *type = call->send_types;
    call->op = offbeat_operator_find(call->request.op);
    if (call->op == OFFBEAT_OPERATORS)
        return "the operation of a drawn call is unknown";
    for (size_t i = 0; i < type->count; i++)
        if (!offbeat_operator_accepts(call->op, type->entries[i].basic))
            return "the operation of a drawn call is not defined on its datatype";
    if (!type->is_predefined && !offbeat_operator_is_user_defined(call->op))
        return "a predefined operation needs a predefined datatype";
    return create_operation(call->op, &call->arguments.operation) == MPI_SUCCESS ? NULL
                                                                                 : "MPI_Op_create failed";
}

/* --- blocks --- */

static int has_uneven_counts(const offbeat_drawn_call *call) {
    return call->row->counts != OFFBEAT_EVEN_COUNTS;
}

static int has_types(const offbeat_drawn_call *call) {
    return call->row->counts == OFFBEAT_UNEVEN_TYPES;
}

/* The number of basic elements from one rank to another; of a reduction those of the receiver's block. */
static size_t block_elements(const offbeat_drawn_call *call, int sender, int receiver) {
    const offbeat_drawn_request *request = &call->request;
    int64_t item = 0;
    if (has_uneven_counts(call))
        item = call->row->receive == OFFBEAT_ONE_BLOCK ? receiver
               : call->row->send == OFFBEAT_ONE_BLOCK  ? sender
                                                       : sender + (int64_t)request->slope * receiver;
    return (size_t)request->elements[item % request->elements_length];
}

/* The blocks of a send or receive buffer of this process. */
static const char *create_blocks(const offbeat_drawn_call *call, int is_send, offbeat_blocks length,
                                 const offbeat_typed_text *types, offbeat_drawn_buffer *buffer) {
    int count = length == OFFBEAT_BLOCK_PER_RANK ? call->p : 1;
    size_t *elements = calloc((size_t)count, sizeof *elements);
    if (!elements)
        return "no memory for the blocks of a buffer";
    for (int index = 0; index < count; index++) {
        int peer = count > 1 || length == OFFBEAT_BLOCK_PER_RANK ? index : call->rank;
        elements[index] = is_send || call->is_reduction ? block_elements(call, call->rank, peer)
                                                        : block_elements(call, peer, call->rank);
    }
    const char *why = offbeat_drawn_blocks_create(types, has_types(call), elements, count, buffer);
    free(elements);
    return why;
}

static int has_displacements(const offbeat_drawn_call *call, offbeat_blocks length) {
    return has_uneven_counts(call) && length == OFFBEAT_BLOCK_PER_RANK && !call->is_reduction;
}

static const char *create_buffer(const offbeat_drawn_call *call, int is_send, offbeat_blocks length,
                                 offbeat_typed_text *types, offbeat_drawn_buffer *buffer) {
    if (length == OFFBEAT_NO_BLOCK)
        return NULL;
    const char *why = create_blocks(call, is_send, length, types, buffer);
    if (!why && has_displacements(call, length))
        offbeat_drawn_blocks_spread(buffer, call->request.gap, call->request.is_descending);
    if (!why)
        why = offbeat_drawn_buffer_create(buffer, is_send ? SENT_GUARD : RECEIVED_GUARD);
    for (int i = 0; i < call->type_count && !why && buffer->is_absolute; i++)
        if (offbeat_type_text_bind(&types[i], offbeat_drawn_buffer_address(buffer)) != MPI_SUCCESS)
            why = "a datatype with absolute addresses could not be created";
    return why;
}

/* --- contents --- */

typedef offbeat_numbers content(const offbeat_drawn_call *call, const offbeat_basic_type *basic, int block,
                                size_t index, size_t position);

static offbeat_numbers moved_input(const offbeat_drawn_call *call, const offbeat_basic_type *basic, int block,
                                   size_t index, size_t position) {
    (void)position;
    return offbeat_label_of(basic, call->rank, call->row->send == OFFBEAT_BLOCK_PER_RANK ? block : 0, index);
}

static offbeat_numbers moved_result(const offbeat_drawn_call *call, const offbeat_basic_type *basic,
                                    int block, size_t index, size_t position) {
    (void)position;
    int sender = call->row->result == OFFBEAT_FROM_ROOT ? call->request.root : block;
    return offbeat_label_of(basic, sender, call->row->send == OFFBEAT_BLOCK_PER_RANK ? call->rank : 0, index);
}

static offbeat_numbers operand(const offbeat_drawn_call *call, const offbeat_basic_type *basic, int block,
                               size_t index, size_t position) {
    (void)block;
    (void)index;
    return offbeat_operand(call->op, basic, call->p, call->rank, position);
}

/* The reduction of a place of all operands over the ranks that contribute. */
static offbeat_numbers reduction_of_operands(const offbeat_drawn_call *call, const offbeat_basic_type *basic,
                                             int block, size_t index, size_t position) {
    (void)block;
    (void)index;
    offbeat_result result = call->row->result;
    int end = result == OFFBEAT_REDUCE_ALL    ? call->p
              : result == OFFBEAT_REDUCE_UPTO ? call->rank + 1
                                              : call->rank;
    offbeat_numbers total = offbeat_operand(call->op, basic, call->p, 0, position);
    for (int rank = 1; rank < end; rank++)
        total = offbeat_combine(call->op, basic, total,
                                offbeat_operand(call->op, basic, call->p, rank, position));
    return total;
}

/*
 * Writes a block into an image of a buffer, elements first to first + elements of the block's datatype.
 * @param position the index of the block's first element in the vectors that are reduced
 */
static void write_block(const offbeat_drawn_call *call, offbeat_drawn_buffer *buffer, unsigned char *image,
                        int block, size_t elements, size_t position, content *value) {
    for (size_t i = 0; i < elements; i++) {
        const offbeat_basic_type *basic = offbeat_drawn_element_type(buffer, block, i);
        offbeat_numbers_store(basic, value(call, basic, block, i, position + i),
                              offbeat_drawn_element(buffer, image, block, i));
    }
}

/* Writes an input into some blocks of a buffer: into its memory and into what is expected there later. */
static void write_input(const offbeat_drawn_call *call, offbeat_drawn_buffer *buffer, int first, int end) {
    content *value = call->is_reduction ? operand : moved_input;
    size_t position = 0;
    for (int block = first; block < end; block++) {
        size_t elements = buffer->blocks[block].elements;
        write_block(call, buffer, buffer->memory, block, elements, position, value);
        write_block(call, buffer, buffer->expected_image, block, elements, position, value);
        position += elements;
    }
}

/* Writes the input of a call in place, or of the root of bcast, into the receive buffer. */
static void write_input_in_place(offbeat_drawn_call *call) {
    int is_source = call->row->send == OFFBEAT_NO_BLOCK;
    int has_own_block = !call->is_reduction && call->row->send == OFFBEAT_ONE_BLOCK;
    int end = call->receive.block_count;
    if (is_source || !has_own_block)
        write_input(call, &call->receive, 0, end);
    else
        write_input(call, &call->receive, call->rank, call->rank + 1);
}

/* The index of the first element of this process's block in the vectors that are reduced. */
static size_t first_place(const offbeat_drawn_call *call) {
    size_t position = 0;
    for (int rank = 0; call->row->send == OFFBEAT_BLOCK_PER_RANK && rank < call->rank; rank++)
        position += block_elements(call, 0, rank);
    return position;
}

static void write_result(offbeat_drawn_call *call) {
    offbeat_drawn_buffer *buffer = &call->receive;
    if (call->is_reduction) {
        /* In place, the receive buffer of reduce_scatter has a block for each rank, and the result begins at
         * the first one; blocks adjoin, so that the elements after it are those of the next blocks. */
        size_t elements = block_elements(call, 0, call->rank);
        write_block(call, buffer, buffer->expected_image, 0, elements, first_place(call),
                    reduction_of_operands);
        return;
    }
    for (int block = 0; block < buffer->block_count; block++)
        write_block(call, buffer, buffer->expected_image, block, buffer->blocks[block].elements, 0,
                    moved_result);
}

/* Whether MPI leaves the receive buffer undefined: exscan on rank 0. */
static int is_undefined(const offbeat_drawn_call *call) {
    return call->row->result == OFFBEAT_REDUCE_BEFORE && call->rank == 0;
}

static void write_contents(offbeat_drawn_call *call) {
    int is_bcast_root = call->row->send == OFFBEAT_NO_BLOCK && call->rank == call->request.root;
    if (call->row->send != OFFBEAT_NO_BLOCK && call->uses_send)
        write_input(call, &call->send, 0, call->send.block_count);
    if (call->is_in_place || is_bcast_root)
        write_input_in_place(call);
    if (call->uses_receive && !is_undefined(call) && call->row->receive != OFFBEAT_NO_BLOCK)
        write_result(call);
}

/* --- arguments --- */

static void set_lists(offbeat_drawn_call *call) {
    int *lists[] = {call->counts, call->counts + call->p, call->counts + 2 * (size_t)call->p,
                    call->counts + 3 * (size_t)call->p};
    for (int i = 0; i < call->send.block_count; i++) {
        lists[0][i] = call->send.blocks[i].count;
        lists[1][i] = call->send.blocks[i].displacement;
    }
    for (int i = 0; i < call->receive.block_count; i++) {
        lists[2][i] = call->receive.blocks[i].count;
        lists[3][i] = call->receive.blocks[i].displacement;
    }
    if (call->is_reduction) /* reduce_scatter has the counts of what each rank receives */
        for (int i = 0; has_uneven_counts(call) && i < call->p; i++)
            lists[2][i] = offbeat_drawn_count(call->send_types, block_elements(call, 0, i));
    call->arguments.arguments.send_counts = lists[0];
    call->arguments.arguments.send_displacements = lists[1];
    call->arguments.counts = lists[2];
    call->arguments.displacements = lists[3];
}

static void *address_of(const offbeat_drawn_buffer *buffer) {
    if (!buffer->bytes)
        return NULL;
    return buffer->is_absolute ? MPI_BOTTOM : offbeat_drawn_buffer_address(buffer);
}

static int count_of(const offbeat_drawn_buffer *buffer, int block) {
    return buffer->block_count > block ? buffer->blocks[block].count : 0;
}

/* The count argument of a reduction: of a whole vector, or of what each process receives. */
static int reduction_count(const offbeat_drawn_call *call) {
    return offbeat_drawn_count(call->send_types, block_elements(call, 0, call->rank));
}

static void hide_ignored(offbeat_drawn_call *call) {
    offbeat_arguments *arguments = &call->arguments.arguments;
    if (!call->uses_send) {
        if (!call->is_in_place)
            arguments->send = NULL;
        arguments->send_count = 0;
        arguments->send_type = MPI_DATATYPE_NULL;
        arguments->send_counts = arguments->send_displacements = NULL;
        arguments->send_types = NULL;
    }
    if (!call->uses_receive) {
        if (arguments->receive != MPI_IN_PLACE)
            arguments->receive = NULL;
        arguments->receive_count = 0;
        arguments->receive_type = MPI_DATATYPE_NULL;
        call->arguments.counts = call->arguments.displacements = NULL;
    }
}

static void set_types(offbeat_drawn_call *call) {
    const offbeat_typed_text *receive_types = call->is_reduction ? call->send_types : call->receive_types;
    offbeat_arguments *arguments = &call->arguments.arguments;
    for (int i = 0; i < call->type_count; i++) {
        call->handles[i] = call->send_types[i].handle;
        call->handles[call->type_count + i] = receive_types[i].handle;
    }
    arguments->send_types = call->handles;
    arguments->receive_types = call->handles + call->type_count;
    arguments->send_type = arguments->send_types[0];
    arguments->receive_type = call->arguments.type = arguments->receive_types[0];
}

static void set_arguments(offbeat_drawn_call *call, int keeps_own_block) {
    offbeat_arguments *arguments = &call->arguments.arguments;
    set_lists(call);
    arguments->send = call->is_in_place ? MPI_IN_PLACE : address_of(&call->send);
    arguments->receive = keeps_own_block ? MPI_IN_PLACE : address_of(&call->receive);
    arguments->send_count = count_of(&call->send, 0);
    arguments->receive_count = call->arguments.count =
        call->is_reduction ? reduction_count(call) : count_of(&call->receive, 0);
    set_types(call);
    if (call->request.has_nulls && call->row->send != OFFBEAT_NO_BLOCK)
        hide_ignored(call);
    call->arguments.root = call->request.root;
    call->arguments.comm = call->request.comm;
}

/* --- creation --- */

/* The item of a list separated by '/' that belongs to a rank. */
static const char *item_of(const char *list, int rank, size_t *length) {
    int items = 1;
    for (const char *cursor = list; *cursor; cursor++)
        items += *cursor == '/';
    for (int items_to_skip = rank % items; items_to_skip > 0; list++)
        items_to_skip -= *list == '/';
    *length = strcspn(list, "/");
    return list;
}

static const char *create_type(const char *list, int rank, offbeat_typed_text *type) {
    size_t length;
    const char *item = item_of(list, rank, &length);
    return offbeat_type_text_create(item, length, type);
}

static const char *create_types(offbeat_drawn_call *call) {
    const offbeat_drawn_request *request = &call->request;
    int is_bcast_root = call->row->send == OFFBEAT_NO_BLOCK && call->rank == request->root;
    const char *receive_list = request->receive && !is_bcast_root ? request->receive : request->send,
               *why = NULL;
    call->type_count = has_types(call) ? call->p : 1;
    call->send_types = calloc((size_t)call->type_count, sizeof *call->send_types);
    call->receive_types = calloc((size_t)call->type_count, sizeof *call->receive_types);
    call->handles = calloc(2 * (size_t)call->type_count, sizeof(MPI_Datatype));
    if (!call->send_types || !call->receive_types || !call->handles)
        return "no memory for the datatypes of a drawn call";
    for (int i = 0; i < call->type_count; i++)
        call->send_types[i].handle = call->receive_types[i].handle = MPI_DATATYPE_NULL;
    for (int i = 0; i < call->type_count && !why; i++) {
        why = create_type(request->send, call->is_reduction ? 0 : call->rank + i, &call->send_types[i]);
        if (!why && !call->is_reduction)
            why = create_type(receive_list, call->rank + i, &call->receive_types[i]);
    }
    return why;
}

static const char *create_buffers(offbeat_drawn_call *call) {
    offbeat_blocks receive_length = call->row->receive;
    int is_whole_input = call->is_in_place && call->row->send == OFFBEAT_BLOCK_PER_RANK;
    offbeat_typed_text *types = call->is_reduction ? call->send_types : call->receive_types;
    const char *why = create_buffer(call, 1, call->row->send, call->send_types, &call->send);
    if (!why)
        why = create_buffer(call, 0, is_whole_input ? OFFBEAT_BLOCK_PER_RANK : receive_length, types,
                            &call->receive);
    call->counts = calloc(4 * (size_t)call->p, sizeof *call->counts);
    return why || call->counts ? why : "no memory for the counts of a drawn call";
}

static const char *resolve_collective(offbeat_drawn_call *call) {
    const offbeat_drawn_request *request = &call->request;
    call->row = offbeat_collective_find(request->collective);
    if (!call->row)
        return "the collective of a drawn call is not in the table";
    if (MPI_Comm_size(request->comm, &call->p) != MPI_SUCCESS ||
        MPI_Comm_rank(request->comm, &call->rank) != MPI_SUCCESS)
        return "the communicator of a drawn call has no size or rank";
    if (request->root < 0 || request->root >= call->p)
        return "the root of a drawn call is not a rank of its communicator";
    if (call->row->result != OFFBEAT_NO_RESULT && (request->elements_length < 1 || !request->send))
        return "a drawn call needs the keys elements and send";
    call->is_reduction = offbeat_collective_is_reduction(call->row);
    return NULL;
}

/* Which buffers MPI uses on this process. @return whether the root of scatter keeps its own block */
static int resolve_buffers(offbeat_drawn_call *call) {
    const offbeat_collective *row = call->row;
    int is_root = row->root == OFFBEAT_NO_ROOT || call->rank == call->request.root;
    int has_both = row->send != OFFBEAT_NO_BLOCK && row->receive != OFFBEAT_NO_BLOCK;
    int is_affected = call->request.in_place && has_both && is_root;
    int keeps_own_block = is_affected && row->root == OFFBEAT_ROOT_SENDS;
    call->is_in_place = is_affected && !keeps_own_block;
    call->uses_send = !call->is_in_place && (row->root != OFFBEAT_ROOT_SENDS || is_root);
    call->uses_receive = !keeps_own_block && (row->root != OFFBEAT_ROOT_RECEIVES || is_root);
    return keeps_own_block;
}

const char *offbeat_drawn_call_create(const offbeat_drawn_request *request, offbeat_drawn_call **call) {
    offbeat_drawn_call *new_call = *call = calloc(1, sizeof *new_call);
    if (!new_call)
        return "no memory for a drawn call";
    new_call->request = *request;
    new_call->arguments.operation = MPI_OP_NULL;
    const char *why = resolve_collective(new_call);
    new_call->arguments.comm = request->comm;
    if (why || new_call->row->result == OFFBEAT_NO_RESULT)
        return why;
    int keeps_own_block = resolve_buffers(new_call);
    why = create_types(new_call);
    if (!why && new_call->is_reduction)
        why = resolve_operation(new_call);
    if (!why)
        why = create_buffers(new_call);
    if (why)
        return why;
    write_contents(new_call);
    set_arguments(new_call, keeps_own_block);
    return NULL;
}

int offbeat_drawn_call_run(offbeat_drawn_call *call) {
    running_call = call;
    return call->row->run(&call->arguments);
}

/* Accepts what MPI leaves undefined: of exscan on rank 0 everything, of reduce_scatter in place what follows
 * the result. */
static void accept_undefined(offbeat_drawn_call *call) {
    size_t defined = is_undefined(call) ? 0 : block_elements(call, 0, call->rank), position = 0;
    for (int block = 0; block < call->receive.block_count; block++)
        for (size_t i = 0; i < call->receive.blocks[block].elements; i++)
            if (position++ >= defined)
                offbeat_drawn_element_accept(&call->receive, block, i, 1);
}

/* The number of this process's datatypes of one side that the library itself gets wrong. */
static int count_misplaced(const offbeat_drawn_call *call, const char *list,
                           const offbeat_drawn_buffer *buffer) {
    size_t length, elements = 0;
    int count = 0;
    for (int i = 0; i < buffer->block_count; i++)
        elements = buffer->blocks[i].elements > elements ? buffer->blocks[i].elements : elements;
    for (int i = 0; i < call->type_count && list && elements; i++) {
        const char *item = item_of(list, call->is_reduction ? 0 : call->rank + i, &length);
        count += offbeat_datatype_is_misplaced(item, length, elements);
    }
    return count;
}

offbeat_drawn_outcome offbeat_drawn_call_check(offbeat_drawn_call *call) {
    int is_logical =
        call->is_reduction && call->op >= OFFBEAT_OPERATOR_LAND && call->op <= OFFBEAT_OPERATOR_LXOR;
    if (is_undefined(call) || (call->is_reduction && call->is_in_place))
        accept_undefined(call);
    offbeat_difference send_difference = offbeat_drawn_buffer_compare(&call->send, 0, 0);
    offbeat_difference receive_difference =
        offbeat_drawn_buffer_compare(&call->receive, is_logical, call->is_reduction && call->uses_receive);
    offbeat_drawn_outcome outcome = {
        receive_difference.elements,
        send_difference.elements + send_difference.guards + receive_difference.guards, 0};
    const offbeat_drawn_request *request = &call->request;
    if (outcome.elements + outcome.guards > 0)
        outcome.wrong_types =
            count_misplaced(call, request->send, &call->send) +
            count_misplaced(call, request->receive ? request->receive : request->send, &call->receive);
    return outcome;
}

void offbeat_drawn_call_free(offbeat_drawn_call **call) {
    offbeat_drawn_call *old_call = *call;
    if (!old_call)
        return;
    if (offbeat_operator_is_user_defined(old_call->op) && old_call->arguments.operation != MPI_OP_NULL)
        MPI_Op_free(&old_call->arguments.operation);
    offbeat_drawn_buffer_free(&old_call->send);
    offbeat_drawn_buffer_free(&old_call->receive);
    for (int i = 0; i < old_call->type_count && old_call->send_types && old_call->receive_types; i++) {
        offbeat_type_text_free(&old_call->send_types[i]);
        offbeat_type_text_free(&old_call->receive_types[i]);
    }
    free(old_call->send_types);
    free(old_call->receive_types);
    free(old_call->handles);
    free(old_call->counts);
    free(old_call);
    *call = NULL;
}
