/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ucx_test.c  UCX's functions are found however UCX came into the process, and missed without harm. */
#include "library/ucx.h"

#include <dlfcn.h>
#include <stdio.h>

static int failures;

static void expect(int holds, const char *sentence) {
    if (holds)
        return;
    fprintf(stderr, "ucx_test: not true: %s\n", sentence);
    failures++;
}

/* UCX_STAND_IN is a library of UCX's name with one function. */
int main(void) {
    expect(offbeat_ucx_function("ucp_tag_send_nbx") == NULL, "there is nothing to find without UCX");
    void *stand_in = dlopen(UCX_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    expect(stand_in != NULL, "a library of UCX's name can be opened for this program alone");
    void *found = offbeat_ucx_function("ucp_tag_send_nbx");
    expect(found != NULL, "a UCX that others cannot see is found");
    expect(found == dlsym(stand_in, "ucp_tag_send_nbx"), "it is the function of that library");
    expect(offbeat_ucx_function("ucp_tag_send_nb") == NULL,
           "a function that this UCX does not have is missed");
    return failures ? 1 : 0;
}
