/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "programs/plan.h"

#include "protocol/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "no memory for the plan";

/* @return the array with room for one element more, or NULL */
static void *grow(void *array, int count, size_t bytes) {
    const int is_power_of_two = (count & (count - 1)) == 0; /* 0 is one, too */
    return is_power_of_two ? realloc(array, (count ? 2 * (size_t)count : 1) * bytes) : array;
}

/* This process's number of a list with one per rank; a shorter list is repeated. */
static int64_t own_number(const offbeat_command *command, const char *key, int rank) {
    const int length = offbeat_command_list_length(command, key);
    return length ? offbeat_command_list_item(command, key, rank % length)
                  : offbeat_command_number_or(command, key, 0);
}

static program_sends sends_named(const char *name) {
    static const char *const names[] = {"nonblocking", "blocking", "synchronous", "buffered"};
    int i = 0;
    while (strcmp(name, names[i]) != 0) /* the parser has checked the name */
        i++;
    return (program_sends)i;
}

static const char *add_step(program_plan *plan, program_step_kind kind, const offbeat_command *command) {
    program_step *steps = grow(plan->steps, plan->step_count, sizeof *steps);
    if (!steps)
        return no_memory;
    plan->steps = steps;
    steps[plan->step_count++] =
        (program_step){.kind = kind, .period = offbeat_command_number(command, "every")};
    return NULL;
}

static program_step *last_step(program_plan *plan) {
    return plan->step_count ? &plan->steps[plan->step_count - 1] : NULL;
}

static const char *read_run(const offbeat_command *command, int rank, program_plan *plan) {
    (void)rank;
    plan->ranks = (int)offbeat_command_number(command, "ranks");
    plan->iterations = offbeat_command_number(command, "iterations");
    plan->alone = (int)offbeat_command_number(command, "alone");
    plan->buffer_bytes = offbeat_command_number(command, "buffer_bytes");
    return NULL;
}

static const char *read_work(const offbeat_command *command, int rank, program_plan *plan) {
    const char *why = add_step(plan, PROGRAM_WORK, command);
    if (why)
        return why;
    program_step *step = last_step(plan);
    step->memory_bytes = own_number(command, "memory", rank);
    step->flops = own_number(command, "flops", rank);
    step->time_ns = own_number(command, "time_ns", rank);
    return NULL;
}

static const char *read_exchange(const offbeat_command *command, int rank, program_plan *plan) {
    (void)rank;
    const char *why = add_step(plan, PROGRAM_EXCHANGE, command);
    if (!why)
        last_step(plan)->sends = sends_named(offbeat_command_text(command, "sends"));
    return why;
}

static const char *read_message(const offbeat_command *command, int rank, program_plan *plan) {
    const int sender = (int)offbeat_command_number(command, "from");
    const int receiver = (int)offbeat_command_number(command, "to");
    program_step *step = last_step(plan);
    if (!step || step->kind != PROGRAM_EXCHANGE)
        return "a message must follow an exchange";
    if (sender == receiver || sender >= plan->ranks || receiver >= plan->ranks)
        return "from and to must be two different ranks";
    if (sender != rank && receiver != rank)
        return NULL;
    program_message *messages = grow(step->messages, step->message_count, sizeof *messages);
    if (!messages)
        return no_memory;
    step->messages = messages;
    messages[step->message_count++] = (program_message){
        .partner = sender == rank ? receiver : sender,
        .bytes = (int)offbeat_command_number(command, "bytes"),
        .is_sent = sender == rank,
    };
    return NULL;
}

static const char *read_collective(const offbeat_command *command, int rank, program_plan *plan) {
    (void)rank;
    const char *why = add_step(plan, PROGRAM_COLLECTIVE, command);
    if (why)
        return why;
    program_collective *call = &last_step(plan)->call;
    *call = (program_collective){
        .collective = strdup(offbeat_command_text(command, "collective")),
        .datatype = strdup(offbeat_command_text(command, "datatype")),
        .op = strdup(offbeat_command_text(command, "op")),
        .bytes = offbeat_command_number(command, "bytes"),
        .root = (int)offbeat_command_number(command, "root"),
        .communicators = (int)offbeat_command_number(command, "communicators"),
        .stride = (int)offbeat_command_number(command, "stride"),
    };
    return call->collective && call->datatype && call->op ? NULL : no_memory;
}

static const char *read_delay(const offbeat_command *command, int rank, program_plan *plan) {
    (void)rank;
    return add_step(plan, PROGRAM_DELAY, command);
}

static const char *read_command(const offbeat_command *command, int rank, program_plan *plan) {
    static const struct {
        const char *verb;
        const char *(*read)(const offbeat_command *command, int rank, program_plan *plan);
    } verbs[] = {
        {"run", read_run},
        {"work", read_work},
        {"exchange", read_exchange},
        {"message", read_message},
        {"collective", read_collective},
        {"delay", read_delay},
    };
    if ((strcmp(command->verb->name, "run") == 0) == (plan->ranks > 0))
        return "the first line, and no other one, must be 'run'";
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(command->verb->name, verbs[i].verb) == 0)
            return verbs[i].read(command, rank, plan);
    return "this verb has no place in a plan";
}

static const char *read_line(char *line, long number, int rank, program_plan *plan) {
    static char message[256];
    offbeat_command command;
    const char *why = offbeat_command_parse(line, number, OFFBEAT_EXECUTOR, &command);
    if (!why) {
        why = read_command(&command, rank, plan);
        if (why) {
            snprintf(message, sizeof message, "line %ld: %s", number, why);
            why = message;
        }
    }
    offbeat_command_free(&command);
    return why;
}

const char *program_plan_parse(char *text, int rank, program_plan *plan) {
    const char *why = NULL;
    char *rest = text, *line;
    *plan = (program_plan){0};
    for (long number = 1; !why && (line = strsep(&rest, "\n")) != NULL; number++)
        if (*line)
            why = read_line(line, number, rank, plan);
    return !why && plan->ranks == 0 ? "the plan is empty" : why;
}

int program_step_is_phase(const program_step *step) {
    return step->kind != PROGRAM_DELAY;
}

int program_plan_phases(const program_plan *plan) {
    int phases = 0;
    for (int i = 0; i < plan->step_count; i++)
        phases += program_step_is_phase(&plan->steps[i]);
    return phases;
}

void program_plan_free(program_plan *plan) {
    for (int i = 0; i < plan->step_count; i++) {
        free(plan->steps[i].messages);
        free(plan->steps[i].call.collective);
        free(plan->steps[i].call.datatype);
        free(plan->steps[i].call.op);
    }
    free(plan->steps);
    *plan = (program_plan){0};
}
