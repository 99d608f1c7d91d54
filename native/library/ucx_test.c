/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ucx_test.c  UCX's functions are found however UCX was loaded, and a missing UCX is no error. */
#include "library/ucx.h"

#include <dlfcn.h>
#include <stdio.h>

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "ucx_test: failed: %s\n", claim);
    failures++;
}

/* UCX_STUB is a library with the name of UCX and one function. */
int main(void) {
    expect(offbeat_ucx_function("ucp_tag_send_nbx") == NULL, "nothing is found without UCX");
    void *stub = dlopen(UCX_STUB, RTLD_NOW | RTLD_LOCAL);
    expect(stub != NULL, "the stub can be opened with RTLD_LOCAL");
    void *function = offbeat_ucx_function("ucp_tag_send_nbx");
    expect(function != NULL, "a UCX that was opened with RTLD_LOCAL is found");
    expect(function == dlsym(stub, "ucp_tag_send_nbx"), "the function is that of the stub");
    expect(offbeat_ucx_function("ucp_tag_send_nb") == NULL,
           "a function that this UCX does not have is not found");
    return failures ? 1 : 0;
}
