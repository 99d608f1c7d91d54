/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pattern_file.h
 * Pattern files of offbeat and of other tools: one delay a line, line i that of rank i.
 *
 * What follows a # is a comment, and blank lines are skipped. Two comments of the form "# key: value" count:
 * `p` (how many delays must follow) and `unit` (of the delays; seconds without it).
 */
#ifndef OFFBEAT_FT_PATTERN_FILE_H
#define OFFBEAT_FT_PATTERN_FILE_H

#include <stddef.h>
#include <stdio.h>

/**
 * Reads p delays in seconds, and subtracts the smallest from all.
 *
 * @param name of the file, for sentences
 * @param why gets a sentence of less than @p bytes, with the line, where the file is no pattern of p
 * processes
 * @return 0, or -1
 */
int ft_pattern_read(FILE *file, const char *name, int p, double *delays_s, char *why, size_t bytes);

#endif
