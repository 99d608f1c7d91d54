/* SPDX-License-Identifier: BSD-3-Clause */
/** @file intelmpi.c  What is particular to Intel MPI: it ships with its symbols, but never switches while
 * running. */
#include <mpi.h>
#ifdef I_MPI_VERSION
#include "library/family.h"
#include "library/words.h"

#include <string.h>

const char *offbeat_family_name(void) {
    return "intelmpi";
}

int offbeat_family_needs_new_communicator(void) {
    return 0;
}

int offbeat_family_switches_while_running(void) {
    return 0;
}

int offbeat_family_holds_algorithms(const char *path) {
    return strstr(path, "/libmpi.so") != NULL;
}

/*
 * MPIR_Reduce_intra_binomial, MPIDI_POSIX_Reduce_intra_shm_tiny, ... The chooser MPIR_X_intra_auto and the
 * tests of applicability are passed for every algorithm.
 */
int offbeat_family_is_algorithm(const char *symbol) {
    static const char *const choosers[] = {"_check", "_auto",   "container", "params",  "_cnt",    "_init",
                                           "_final", "_inter_", "_tune",     "_create", "_select", NULL};
    return strncmp(symbol, "MPI", 3) == 0 && (strstr(symbol, "_intra_") || strstr(symbol, "_allcomm_")) &&
           !offbeat_contains_any(symbol, choosers);
}

#else
typedef int offbeat_not_intelmpi; /* an empty translation unit is not C */
#endif
