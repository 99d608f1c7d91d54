/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/json.h"

void offbeat_json_text(const char *text, FILE *out) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c < 0x7F ? *c : '?', out);
    }
    fputc('"', out);
}
