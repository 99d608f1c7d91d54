/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mpich.c  What is particular to MPICH: it switches at once; its functions name themselves in its
 * texts. */
#include <mpi.h>
#if defined(MPICH_VERSION) && !defined(I_MPI_VERSION)
#include "library/family.h"
#include "library/words.h"

#include <string.h>

const char *offbeat_family_name(void) {
    return "mpich";
}

int offbeat_family_needs_new_communicator(void) {
    return 0;
}

int offbeat_family_switches_while_running(void) {
    return 1;
}

int offbeat_family_holds_algorithms(const char *path) {
    return strstr(path, "/libmpi.so") || strstr(path, "/libmpich.so");
}

/*
 * MPIR_Reduce_intra_binomial, MPIR_Reduce_allcomm_nb, MPIR_TSP_Ireduce_sched_intra_tree. The device's
 * compositions (MPIDI_Reduce_intra_composition_alpha) divide a collective and call the algorithms.
 */
int offbeat_family_is_algorithm(const char *symbol) {
    static const char *const choosers[] = {"_check",  "_auto", "container",   "_cnt",
                                           "_inter_", "_json", "composition", NULL};
    return strncmp(symbol, "MPI", 3) == 0 && (strstr(symbol, "_intra_") || strstr(symbol, "_allcomm_")) &&
           !offbeat_contains_any(symbol, choosers);
}

#else
typedef int offbeat_not_mpich; /* an empty translation unit is not C */
#endif
