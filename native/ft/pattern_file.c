/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "ft/pattern_file.h"

#include "ft/duration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n\v\f"

typedef struct {
    FILE *file;
    const char *name;
    int line;
    int p, found; /* delays that are needed, and that came */
    long stated;  /* what the header says; 0: nothing */
    double unit_s, *delays_s;
    char *why;
    size_t bytes;
} reading;

/* Says what is wrong with the present line. @return -1 */
static int wrong_line(const reading *r, const char *sentence, const char *content) {
    size_t length = (size_t)snprintf(r->why, r->bytes, "%s:%d: ", r->name, r->line);
    if (length < r->bytes)
        snprintf(r->why + length, r->bytes - length, sentence, content);
    return -1;
}

/* Takes the blanks off both ends, in place. */
static char *trimmed(char *text) {
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

static int read_unit(reading *r, const char *unit) {
    static const struct {
        const char *name;
        double unit_s;
    } units[] = {
        {"ns", 1e-9}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6}, {"\xCE\xBCs", 1e-6}, {"ms", 1e-3},
        {"s", 1.0},   {"min", 60},  {"h", 3600},         {"seconds", 1.0},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0) {
            r->unit_s = units[i].unit_s;
            return 0;
        }
    return wrong_line(r, "the header names the unit '%.30s'; known units are " FT_DURATION_UNITS, unit);
}

/* A comment: "key: value" counts for two keys, and everything else is for people. */
static int read_comment(reading *r, char *comment) {
    char *colon = strchr(comment, ':');
    if (colon == NULL)
        return 0;
    *colon = '\0';
    const char *key = trimmed(comment), *value = trimmed(colon + 1);
    if (strcmp(key, "p") == 0 && value[strspn(value, "0123456789")] == '\0')
        r->stated = strtol(value, NULL, 10);
    return strcmp(key, "unit") == 0 ? read_unit(r, value) : 0;
}

static int read_delay(reading *r, const char *content) {
    double number;
    if (ft_number_parse(content, &number) != 0)
        return wrong_line(r, "'%.60s' is not a number; a line holds the delay of one rank, and nothing else",
                          content);
    double delay_s = number * r->unit_s;
    if (delay_s < 0.0)
        return wrong_line(r, "the delay %.60s is negative; the earliest rank has the delay 0", content);
    if (delay_s > FT_LONGEST_S)
        return wrong_line(r, "the delay %.60s is longer than one day; delays are in seconds", content);
    if (r->found < r->p)
        r->delays_s[r->found] = delay_s;
    r->found++;
    return 0;
}

/* The first pass: the header is that of all delays, wherever it stands. */
static int take_header(reading *r, char *line) {
    char *text = trimmed(line);
    return *text == '#' ? read_comment(r, text + 1) : 0;
}

/* The second pass. */
static int take_delay(reading *r, char *line) {
    line[strcspn(line, "#")] = '\0';
    const char *content = trimmed(line);
    return *content != '\0' ? read_delay(r, content) : 0;
}

static int each_line(reading *r, int (*take)(reading *r, char *line)) {
    const char *mark = "\xEF\xBB\xBF"; /* what some editors begin a file with */
    char *line = NULL;
    size_t room = 0;
    int status = 0, is_lost = fseek(r->file, 0, SEEK_SET) != 0;
    for (r->line = 1; status == 0 && !is_lost && getline(&line, &room, r->file) >= 0; r->line++) {
        int is_marked = r->line == 1 && strncmp(line, mark, strlen(mark)) == 0;
        status = take(r, is_marked ? line + strlen(mark) : line);
    }
    if (status == 0 && (is_lost || ferror(r->file))) {
        snprintf(r->why, r->bytes, "%s: the file cannot be read: %s", r->name, strerror(errno));
        status = -1;
    }
    free(line);
    return status;
}

static int check_count(const reading *r) {
    if (r->found == 0)
        snprintf(r->why, r->bytes, "%s: the pattern file holds no delays; it needs one line a rank", r->name);
    else if (r->stated > 0 && r->stated != r->found)
        snprintf(r->why, r->bytes,
                 "%s: the header says p = %ld, but the number of delays is %d; is the file cut off?", r->name,
                 r->stated, r->found);
    else if (r->found != r->p)
        snprintf(r->why, r->bytes, "%s: the pattern is one of %d processes, but %d were started", r->name,
                 r->found, r->p);
    else
        return 0;
    return -1;
}

int ft_pattern_read(FILE *file, const char *name, int p, double *delays_s, char *why, size_t bytes) {
    reading r = {
        .file = file, .name = name, .p = p, .unit_s = 1.0, .delays_s = delays_s, .why = why, .bytes = bytes};
    if (each_line(&r, take_header) != 0 || each_line(&r, take_delay) != 0 || check_count(&r) != 0)
        return -1;
    double least = delays_s[0];
    for (int rank = 1; rank < p; rank++)
        least = fmin(least, delays_s[rank]);
    for (int rank = 0; rank < p; rank++)
        delays_s[rank] -= least;
    return 0;
}
