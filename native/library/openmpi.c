/* SPDX-License-Identifier: BSD-3-Clause */
/** @file openmpi.c  What is particular to Open MPI. */
#include <mpi.h>
#ifdef OPEN_MPI
#include "library/family.h"
#include "library/words.h"

#include <string.h>

const char *offbeat_family_name(void) {
    return "openmpi";
}

int offbeat_family_needs_new_communicator(void) {
    return 1;
}

int offbeat_family_switches_while_running(void) {
    return 1;
}

int offbeat_family_holds_algorithms(const char *path) {
    return strstr(path, "/libmpi.so") || strstr(path, "/mca_coll_");
}

/*
 * The algorithms live in ompi/mca/coll/base (used by `tuned` and others) and in components of their own.
 * Choosers (dec_fixed, do_this, dynamic), life-cycle functions and the segmented engine below several
 * algorithms (reduce_generic, bcast_generic) would only say what every algorithm says.
 */
int offbeat_family_is_algorithm(const char *symbol) {
    static const char *const places[] = {
        "ompi_coll_base_", "mca_coll_basic_", "mca_coll_sm_",    "mca_coll_han_",
        "mca_coll_adapt_", "mca_coll_xhc_",   "mca_coll_acoll_", NULL};
    static const char *const choosers[] = {"_dec_",    "_dynamic", "do_this", "do_forced", "check_forced",
                                           "_generic", "_init",    "_fini",   "module",    "component",
                                           "_query",   "enable",   "comm_",   "_inter",    NULL};
    const char *rest = offbeat_after_any_prefix(symbol, places);
    return rest && offbeat_starts_with_collective(rest) && !offbeat_contains_any(symbol, choosers);
}

#else
typedef int offbeat_not_openmpi; /* an empty translation unit is not C */
#endif
