/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "ft/imbalance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLANKS " \t\r\n\v\f"

/* Longer delays are taken for a mistake in the unit. */
static const double one_day_s = 86400.0;

typedef struct {
    FILE *file;
    const char *name;
    int line;
    int p, delays;    /* expected and actual number of delays */
    long p_in_header; /* 0: the header has no number of delays */
    double unit_s, *delays_s;
    char *why;
    size_t bytes;
} reader;

/* Reports an error in the current line. @return -1 */
static int refuse_line(const reader *r, const char *format, const char *content) {
    size_t length = (size_t)snprintf(r->why, r->bytes, "%s:%d: ", r->name, r->line);
    if (length < r->bytes)
        snprintf(r->why + length, r->bytes - length, format, content);
    return -1;
}

/* Removes the blanks at both ends, in place. */
static char *trimmed(char *text) {
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

/* Both spellings of the micro sign are UTF-8. */
static int read_unit(reader *r, const char *unit) {
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
    return refuse_line(r, "the header names the unit '%.30s'; known units are ns, us, ms, s, min and h",
                       unit);
}

/* Only two keys have a meaning. */
static int read_comment(reader *r, char *comment) {
    char *colon = strchr(comment, ':');
    if (colon == NULL)
        return 0;
    *colon = '\0';
    const char *key = trimmed(comment), *value = trimmed(colon + 1);
    if (strcmp(key, "p") == 0 && value[strspn(value, "0123456789")] == '\0')
        r->p_in_header = strtol(value, NULL, 10);
    return strcmp(key, "unit") == 0 ? read_unit(r, value) : 0;
}

/* Reads a decimal number; refuses infinity, NaN and hexadecimal numbers, which strtod accepts. */
static int parse_number(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    int is_number = *text != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0' && *end == '\0';
    return is_number && isfinite(*number) ? 0 : -1;
}

static int read_delay(reader *r, const char *content) {
    double number;
    if (parse_number(content, &number) != 0)
        return refuse_line(r, "'%.60s' is not a number; a line holds the delay of one rank, and nothing else",
                           content);
    double delay_s = number * r->unit_s;
    if (delay_s < 0.0)
        return refuse_line(r, "the delay %.60s is negative; the earliest rank has the delay 0", content);
    if (delay_s > one_day_s)
        return refuse_line(r, "the delay %.60s is longer than one day; delays are in seconds", content);
    if (r->delays < r->p)
        r->delays_s[r->delays] = delay_s;
    r->delays++;
    return 0;
}

/* First pass: the unit holds for all delays, wherever in the file it stands. */
static int read_header_line(reader *r, char *line) {
    char *text = trimmed(line);
    return *text == '#' ? read_comment(r, text + 1) : 0;
}

/* Second pass. */
static int read_delay_line(reader *r, char *line) {
    line[strcspn(line, "#")] = '\0';
    const char *content = trimmed(line);
    return *content != '\0' ? read_delay(r, content) : 0;
}

static int for_each_line(reader *r, int (*read_line)(reader *r, char *line)) {
    const char *byte_order_mark = "\xEF\xBB\xBF";
    const size_t mark_bytes = strlen(byte_order_mark);
    char *line = NULL;
    size_t capacity = 0;
    int status = 0, seek_failed = fseek(r->file, 0, SEEK_SET) != 0;
    for (r->line = 1; status == 0 && !seek_failed && getline(&line, &capacity, r->file) >= 0; r->line++) {
        int has_mark = r->line == 1 && strncmp(line, byte_order_mark, mark_bytes) == 0;
        status = read_line(r, has_mark ? line + mark_bytes : line);
    }
    if (status == 0 && (seek_failed || ferror(r->file))) {
        snprintf(r->why, r->bytes, "%s: the file cannot be read: %s", r->name, strerror(errno));
        status = -1;
    }
    free(line);
    return status;
}

static int check_count(const reader *r) {
    if (r->delays == 0)
        snprintf(r->why, r->bytes, "%s: the pattern file holds no delays; it needs one line a rank", r->name);
    else if (r->p_in_header > 0 && r->p_in_header != r->delays)
        snprintf(r->why, r->bytes,
                 "%s: the header says p = %ld, but the number of delays is %d; is the file truncated?",
                 r->name, r->p_in_header, r->delays);
    else if (r->delays != r->p)
        snprintf(r->why, r->bytes, "%s: the pattern has %d processes, but %d were started", r->name,
                 r->delays, r->p);
    else
        return 0;
    return -1;
}

int ft_pattern_read(FILE *file, const char *name, int p, double *delays_s, char *why, size_t bytes) {
    reader r = {
        .file = file, .name = name, .p = p, .unit_s = 1.0, .delays_s = delays_s, .why = why, .bytes = bytes};
    if (for_each_line(&r, read_header_line) != 0 || for_each_line(&r, read_delay_line) != 0 ||
        check_count(&r) != 0)
        return -1;
    double smallest = delays_s[0];
    for (int rank = 1; rank < p; rank++)
        smallest = fmin(smallest, delays_s[rank]);
    for (int rank = 0; rank < p; rank++)
        delays_s[rank] -= smallest;
    return 0;
}

/* On the monotonic clock, as a change of the system time would shorten or lengthen the delay. */
static void spin(double delay_s) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < delay_s);
}

void ft_delay(double delay_s, ft_delay_by by) {
    if (delay_s <= 0.0)
        return;
    if (by == FT_SPIN) {
        spin(delay_s);
        return;
    }
    double seconds = floor(delay_s);
    struct timespec remaining = {.tv_sec = (time_t)seconds, .tv_nsec = (long)ceil((delay_s - seconds) * 1e9)};
    if (remaining.tv_nsec >= 1000000000L)
        remaining = (struct timespec){.tv_sec = remaining.tv_sec + 1, .tv_nsec = 0};
    while (nanosleep(&remaining, &remaining) != 0 && errno == EINTR)
        ;
}
