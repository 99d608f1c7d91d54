/* SPDX-License-Identifier: BSD-3-Clause */
/** @file json.h  JSON strings. */
#ifndef OFFBEAT_JSON_H
#define OFFBEAT_JSON_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Writes @p text as a quoted JSON string; bytes that are not ASCII become '?'. */
void offbeat_json_text(const char *text, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
