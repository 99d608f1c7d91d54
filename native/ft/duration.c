/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/duration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMERALS "0123456789+-.eE"

/* A time in `unit` is number * 10^exponent * factor seconds. Both spellings of the micro sign are UTF-8. */
static const struct {
    const char *name;
    int exponent;
    double factor;
} units[] = {
    {"", 0, 1.0},           {"s", 0, 1.0},   {"ms", -3, 1.0},  {"us", -6, 1.0},  {"\xC2\xB5s", -6, 1.0},
    {"\xCE\xBCs", -6, 1.0}, {"ns", -9, 1.0}, {"min", 0, 60.0}, {"h", 0, 3600.0},
};

enum { UNITS = sizeof units / sizeof *units };

int ft_number_parse(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    int is_one = *text != '\0' && text[strspn(text, NUMERALS)] == '\0' && *end == '\0' && isfinite(*number);
    return is_one ? 0 : -1;
}

/* Cuts a text into number and unit. The e of an exponent belongs to the number. @return 0, or -1 if too long
 */
static int cut(const char *text, char number[64], const char **unit) {
    size_t length = strspn(text, NUMERALS);
    if (length >= 64)
        return -1;
    memcpy(number, text, length);
    number[length] = '\0';
    *unit = text + length + strspn(text + length, " ");
    return 0;
}

/* The unit goes into the number as an exponent, so that there is one rounding only: 0.1ms is the double
 * 0.0001. */
static int parse_in(const char *number, int unit, double *time_s) {
    char scaled[96];
    size_t mantissa = strcspn(number, "eE");
    long exponent = number[mantissa] != '\0' ? strtol(number + mantissa + 1, NULL, 10) : 0;
    if (ft_number_parse(number, time_s) != 0 || exponent < -999 || exponent > 999)
        return -1;
    snprintf(scaled, sizeof scaled, "%.*se%ld", (int)mantissa, number, exponent + units[unit].exponent);
    *time_s = strtod(scaled, NULL) * units[unit].factor;
    return 0;
}

int ft_duration_parse(const char *text, double *time_s, char *why, size_t bytes) {
    char number[64];
    const char *name;
    int unit = 0;
    if (cut(text, number, &name) == 0)
        while (unit < UNITS && strcmp(units[unit].name, name) != 0)
            unit++;
    else
        unit = UNITS;
    if (unit == UNITS || parse_in(number, unit, time_s) != 0) {
        snprintf(why, bytes, "'%.60s' is not a time; write a number and a unit, such as 500us (units: %s)",
                 text, FT_DURATION_UNITS);
        return -1;
    }
    if (!(*time_s >= 0.0 && *time_s <= FT_LONGEST_S)) {
        snprintf(why, bytes, "the time '%.60s' is not between 0 and one day", text);
        return -1;
    }
    return 0;
}
