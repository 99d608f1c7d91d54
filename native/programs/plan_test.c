/* SPDX-License-Identifier: BSD-3-Clause */
/** @file plan_test.c  Tests of what a process takes from a plan, of its delays, and of the file of its times.
 */
#define _GNU_SOURCE
#include "programs/delays.h"
#include "programs/plan.h"
#include "programs/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "plan_test: failed: %s\n", claim);
    failures++;
}

static const char text[] = "run ranks=3 iterations=7 alone=2 buffer_bytes=4096\n"
                           "work memory=100,200 flops=5 time_ns=0,9 every=2\n"
                           "exchange sends=synchronous\n"
                           "message from=0 to=1 bytes=8\n"
                           "message from=1 to=2 bytes=16\n"
                           "message from=2 to=1 bytes=24\n"
                           "delay every=3\n"
                           "collective collective=bcast bytes=1 datatype=byte op=bor root=2\n"
                           "collective collective=barrier communicators=3 stride=3\n";

static const char *parse(const char *plan_text, int rank, program_plan *plan) {
    char *copy = strdup(plan_text);
    const char *why = program_plan_parse(copy, rank, plan);
    free(copy);
    return why;
}

static void a_process_takes_its_share(void) {
    program_plan plan;
    expect(!parse(text, 1, &plan), "the plan parses");
    expect(plan.ranks == 3 && plan.iterations == 7 && plan.alone == 2 && plan.buffer_bytes == 4096,
           "the first line");
    expect(plan.step_count == 5 && program_plan_phases(&plan) == 4, "a delay is a step but no phase");
    const program_step *work = &plan.steps[0], *exchange = &plan.steps[1], *collective = &plan.steps[3];
    expect(work->memory_bytes == 200 && work->flops == 5 && work->time_ns == 9 && work->period == 2,
           "the work of rank 1");
    expect(exchange->sends == PROGRAM_SYNCHRONOUS && exchange->message_count == 3, "its messages");
    expect(!exchange->messages[0].is_sent && exchange->messages[1].is_sent &&
               exchange->messages[1].bytes == 16 && exchange->messages[2].partner == 2,
           "messages are in the order of the plan");
    expect(collective->call.root == 2 && strcmp(collective->call.op, "bor") == 0, "the collective");
    expect(collective->call.communicators == 1 && collective->call.stride == 1, "it is one of all ranks");
    expect(plan.steps[4].call.communicators == 3 && plan.steps[4].call.stride == 3, "several communicators");
    expect(plan.steps[2].period == 3 && plan.steps[2].kind == PROGRAM_DELAY, "the place of delays");
    program_plan_free(&plan);
    expect(!parse(text, 2, &plan) && plan.steps[0].memory_bytes == 100, "a shorter list is repeated");
    program_plan_free(&plan);
}

static void wrong_plans_give_a_sentence(void) {
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "the plan is empty"},
        {"work memory=1\n", "line 1: the first line"},
        {"run ranks=2 iterations=1\nrun ranks=2 iterations=1\n", "line 2: the first line"},
        {"run ranks=2 iterations=1\nmessage from=0 to=1\n", "line 2: a message must follow an exchange"},
        {"run ranks=2 iterations=1\nexchange\nmessage from=0 to=2\n", "line 3: from and to must be"},
        {"run ranks=2 iterations=1\nexchange\nmessage from=1 to=1\n", "line 3: from and to must be"},
        {"run ranks=2\n", "line 1: run needs the key iterations"},
        {"run ranks=2 iterations=1\nwork memory=-1\n", "line 2: work: memory must be"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        program_plan plan;
        const char *why = parse(wrong[i].text, 0, &plan);
        expect(why && strncmp(why, wrong[i].why, strlen(wrong[i].why)) == 0, wrong[i].why);
        program_plan_free(&plan);
    }
}

static void delays_belong_to_a_rank_and_a_step(void) {
    /* 3 ranks, of which rank 1 has three delays */
    const int64_t begin = 4 * 8, end = begin + 3 * 24;
    const int64_t content[] = {begin, begin, end, end, 0, 2, 100, 0, 2, 10, 4, 1, 1000};
    char path[] = "/tmp/offbeat-delays-XXXXXX";
    int file = mkstemp(path);
    expect(file >= 0 && write(file, content, sizeof content) == (ssize_t)sizeof content, "a file of delays");
    close(file);
    program_delays delays;
    expect(!program_delays_read(path, 1, &delays) && delays.count == 3, "the delays of rank 1");
    expect(program_delays_take(&delays, 0, 1) == 0, "not yet");
    expect(program_delays_take(&delays, 0, 2) == 110, "delays of a step add up");
    expect(program_delays_take(&delays, 4, 2) == 0, "a delay of a step that was left out is dropped");
    program_delays_free(&delays);
    expect(!program_delays_read(path, 2, &delays) && delays.count == 0, "rank 2 has none");
    expect(truncate(path, 60) == 0 && program_delays_read(path, 1, &delays), "a truncated file");
    program_delays_free(&delays);
    remove(path);
    expect(!program_delays_read(path, 0, &delays) && delays.count == 0, "no file, no delays");
}

static void complete_iterations_are_in_the_file_at_once(void) {
    char path[] = "/tmp/offbeat-times-XXXXXX";
    close(mkstemp(path));
    const program_record_header header = {.rank = 1, .phases = 2, .alone = 3, .iterations = 5};
    program_record record = {0};
    program_iteration read = {0};
    expect(!program_record_open(path, &header, &record), "the file opens");
    program_record_iteration(&record, 1, 77, 7);
    FILE *file = fopen(path, "rb");
    expect(fseek(file, (long)(sizeof header + 6 * 8 + sizeof read), SEEK_SET) == 0 &&
               fread(&read, sizeof read, 1, file) == 1 && read.end_ns == 77 && read.communication_ns == 7,
           "another process reads the iteration while the file is mapped");
    fclose(file);
    program_record_close(&record);
    remove(path);
    expect(program_record_open("/nowhere/rank-0.times", &header, &record) != NULL, "no folder");
}

int main(void) {
    a_process_takes_its_share();
    wrong_plans_give_a_sentence();
    delays_belong_to_a_rank_and_a_step();
    complete_iterations_are_in_the_file_at_once();
    return failures ? 1 : 0;
}
