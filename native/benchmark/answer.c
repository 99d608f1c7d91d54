/* SPDX-License-Identifier: BSD-3-Clause */
/** @file answer.c  Answers that are made of lists of numbers. */
#include "benchmark/answer.h"

#include "control/tree.h"

/** Where a list is written to, and how many numbers it has already. */
typedef struct list {
    FILE *out;
    size_t written;
} list;

static void write_numbers(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    const int64_t *values = data;
    list *all = to;
    for (size_t i = 0; all->out && i < bytes / sizeof *values; i++)
        fprintf(all->out, "%s%lld", all->written++ ? "," : "", (long long)values[i]);
}

void offbeat_answer_begin(const offbeat_session *session) {
    if (session->answers)
        fputs("@offbeat {\"ok\":true", session->answers);
}

void offbeat_answer_list(const offbeat_session *session, const char *name, const int64_t *values,
                         size_t count) {
    list all = {.out = session->answers};
    if (!all.out)
        return;
    fprintf(all.out, "%s[", name);
    write_numbers(0, values, count * sizeof *values, &all);
    fputc(']', all.out);
}

void offbeat_answer_gathered(const offbeat_session *session, const char *name, const int64_t *values,
                             size_t count) {
    list all = {.out = session->answers};
    if (all.out)
        fprintf(all.out, "%s[", name);
    offbeat_gather(values, count * sizeof *values, write_numbers, &all, session->control);
    if (all.out)
        fputc(']', all.out);
}

void offbeat_answer_end(const offbeat_session *session) {
    if (session->answers)
        fputs("}\n", session->answers);
}
