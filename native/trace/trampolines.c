/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/trampolines.h"

#include <string.h>

const char *offbeat_tracer_wrapped_name(size_t i) {
    const size_t count = (size_t)(__stop_offbeat_trampolines - __start_offbeat_trampolines);
    return i < count ? __start_offbeat_trampolines[i].name : NULL;
}

void *offbeat_tracer_exported(const char *name) {
    const offbeat_tracer_trampoline *trampoline = __start_offbeat_trampolines;
    while (trampoline != __stop_offbeat_trampolines && strcmp(trampoline->name, name) != 0)
        trampoline++;
    return trampoline == __stop_offbeat_trampolines ? NULL : (void *)trampoline->exported;
}
