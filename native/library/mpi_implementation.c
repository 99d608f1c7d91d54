/* SPDX-License-Identifier: BSD-3-Clause */
#include "library/mpi_implementation.h"

#include "collectives/collectives.h"

#include <mpi.h>
#include <string.h>

/* The list ends with NULL. */
static int contains_any(const char *text, const char *const *parts) {
    for (; *parts; parts++)
        if (strstr(text, *parts))
            return 1;
    return 0;
}

int offbeat_mpi_holds_algorithms(const char *path) {
    return contains_any(path, offbeat_mpi.objects);
}

#ifdef OPEN_MPI

/* A communicator keeps the algorithms that it was created with. */
const offbeat_mpi_implementation offbeat_mpi = {.name = "openmpi",
                                                .needs_new_communicator = 1,
                                                .switches_at_run_time = 1,
                                                .objects = {"/libmpi.so", "/mca_coll_"}};

/* @return the text after the first prefix that matches; NULL if none does. The list ends with NULL. */
static const char *without_prefix(const char *text, const char *const *prefixes) {
    for (; *prefixes; prefixes++) {
        size_t length = strlen(*prefixes);
        if (strncmp(text, *prefixes, length) == 0)
            return text + length;
    }
    return NULL;
}

static int starts_with_collective(const char *text) {
    for (int i = 0; i < offbeat_collective_count(); i++) {
        const char *name = offbeat_collective_name(i);
        size_t length = strlen(name);
        if (strncmp(text, name, length) == 0 && text[length] == '_')
            return 1;
    }
    return 0;
}

/*
 * The algorithms are in ompi/mca/coll/base (used by `tuned` and others) and in components of their own.
 * Selection functions (dec_fixed, do_this, dynamic), life-cycle functions and the segmented engine that
 * several algorithms share (reduce_generic, bcast_generic) do not identify an algorithm.
 */
int offbeat_mpi_is_algorithm(const char *symbol) {
    static const char *const prefixes[] = {
        "ompi_coll_base_", "mca_coll_basic_", "mca_coll_sm_",    "mca_coll_han_",
        "mca_coll_adapt_", "mca_coll_xhc_",   "mca_coll_acoll_", NULL};
    static const char *const excluded_parts[] = {
        "_dec_",  "_dynamic",  "do_this", "do_forced", "check_forced", "_generic", "_init", "_fini",
        "module", "component", "_query",  "enable",    "comm_",        "_inter",   NULL};
    const char *suffix = without_prefix(symbol, prefixes);
    return suffix && starts_with_collective(suffix) && !contains_any(symbol, excluded_parts);
}

#else

#ifdef I_MPI_VERSION

const offbeat_mpi_implementation offbeat_mpi = {.name = "intelmpi", .objects = {"/libmpi.so"}};

/* Every algorithm passes through the selection function MPIR_X_intra_auto and the applicability checks. */
static const char *const excluded_parts[] = {"_check", "_auto",   "container", "params",  "_cnt",    "_init",
                                             "_final", "_inter_", "_tune",     "_create", "_select", NULL};

#else

const offbeat_mpi_implementation offbeat_mpi = {
    .name = "mpich", .switches_at_run_time = 1, .objects = {"/libmpi.so", "/libmpich.so"}};

/* The device's compositions (MPIDI_Reduce_intra_composition_alpha) divide a collective and call algorithms.
 */
static const char *const excluded_parts[] = {"_check",  "_auto", "container",   "_cnt",
                                             "_inter_", "_json", "composition", NULL};

#endif

/* MPIR_Reduce_intra_binomial, MPIR_Reduce_allcomm_nb, MPIR_TSP_Ireduce_sched_intra_tree,
 * MPIDI_POSIX_Reduce_intra_shm_tiny, ... */
int offbeat_mpi_is_algorithm(const char *symbol) {
    return strncmp(symbol, "MPI", 3) == 0 && (strstr(symbol, "_intra_") || strstr(symbol, "_allcomm_")) &&
           !contains_any(symbol, excluded_parts);
}

#endif
