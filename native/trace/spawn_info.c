/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/spawn_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
enum { ARE_VARIABLES_LOST = 1 };
#else
enum { ARE_VARIABLES_LOST = 0 };
#endif

/* Both have assignments NAME=VALUE, one a line. Open MPI prints a warning about the second one, which only
 * programs use. */
static const char environment_key[] = "PMIX_ENVAR", old_environment_key[] = "env";

extern char **environ;

/* --- the value of the key --- */

/* Whether a text has an assignment to the variable of another assignment. */
static int is_assigned(const char *text, const char *assignment) {
    const size_t bytes = strcspn(assignment, "=") + 1;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, assignment, bytes) == 0)
            return 1;
    }
    return 0;
}

static int is_for_tracer(const char *assignment) {
    static const char preload[] = "LD_PRELOAD=", variables[] = "OFFBEAT_TRACE_";
    return strncmp(assignment, preload, sizeof preload - 1) == 0 ||
           strncmp(assignment, variables, sizeof variables - 1) == 0;
}

/* Adds this process's variables for the tracer to a value of the key. @return whether there was space */
static int add_variables(char value[MPI_MAX_INFO_VAL]) {
    size_t length = strlen(value);
    for (char **variable = environ; *variable != NULL; variable++) {
        if (!is_for_tracer(*variable) || is_assigned(value, *variable) || strchr(*variable, '\n') != NULL)
            continue;
        const int bytes =
            snprintf(value + length, MPI_MAX_INFO_VAL - length, "%s%s", length > 0 ? "\n" : "", *variable);
        length += (size_t)bytes;
        if (length >= MPI_MAX_INFO_VAL)
            return 0;
    }
    return 1;
}

static int get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL]) {
    int is_set = 0;
    value[0] = '\0';
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &is_set);
    return is_set;
}

/* A copy of an info with the variables; MPI_INFO_NULL if they are too long. */
static MPI_Info copy_of(MPI_Info info) {
    MPI_Info copy = MPI_INFO_NULL;
    char value[MPI_MAX_INFO_VAL];
    const char *key = get(info, old_environment_key, value) ? old_environment_key : environment_key;
    if (key == environment_key)
        get(info, key, value);
    if (!add_variables(value)) {
        fprintf(stderr,
                "offbeat: the processes that this program spawns are not traced: the variables of the tracer "
                "have more than the %d bytes of an info value; a shorter trace folder may help\n",
                (int)MPI_MAX_INFO_VAL - 1);
        return MPI_INFO_NULL;
    }
    if ((info == MPI_INFO_NULL ? PMPI_Info_create(&copy) : PMPI_Info_dup(info, &copy)) == MPI_SUCCESS)
        PMPI_Info_set(copy, key, value);
    return copy;
}

/* --- calls --- */

/* Whether this process is the root of a call whose processes would not be traced. */
static int is_needed(MPI_Comm comm, int root) {
    int rank = MPI_UNDEFINED;
    return ARE_VARIABLES_LOST && getenv("OFFBEAT_TRACE_DIR") != NULL &&
           PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

/* Copies infos; the originals stay where there is no copy. */
static void copy_all(offbeat_tracer_spawn *spawn, int count, const MPI_Info *infos) {
    spawn->infos = malloc((size_t)count * 2 * sizeof(MPI_Info)); /* what is passed, then the copies */
    spawn->handles = malloc((size_t)count * sizeof *spawn->handles);
    if (spawn->infos == NULL || spawn->handles == NULL)
        return;
    spawn->count = count;
    for (int i = 0; i < count; i++) {
        MPI_Info copy = copy_of(infos[i]);
        spawn->infos[i] = copy != MPI_INFO_NULL ? copy : infos[i];
        spawn->infos[count + i] = copy;
        spawn->handles[i] = PMPI_Info_c2f(spawn->infos[i]);
    }
}

const MPI_Info *offbeat_tracer_spawn_enter(offbeat_tracer_spawn *spawn, MPI_Comm comm, int root, int count,
                                           const MPI_Info *infos) {
    *spawn = (offbeat_tracer_spawn){.count = 0};
    if (is_needed(comm, root) && count > 0 && infos != NULL)
        copy_all(spawn, count, infos);
    return spawn->count > 0 ? spawn->infos : infos;
}

const MPI_Fint *offbeat_tracer_spawn_enter_fortran(offbeat_tracer_spawn *spawn, MPI_Comm comm, int root,
                                                   const MPI_Fint *count, const MPI_Fint *handles) {
    *spawn = (offbeat_tracer_spawn){.count = 0};
    if (!is_needed(comm, root) || *count <= 0)
        return handles;
    MPI_Info *infos = malloc((size_t)*count * sizeof(MPI_Info));
    for (int i = 0; i < *count && infos != NULL; i++)
        infos[i] = PMPI_Info_f2c(handles[i]);
    if (infos != NULL)
        copy_all(spawn, *count, infos);
    free(infos);
    return spawn->count > 0 ? spawn->handles : handles;
}

void offbeat_tracer_spawn_leave(offbeat_tracer_spawn *spawn) {
    for (int i = 0; i < spawn->count; i++)
        if (spawn->infos[spawn->count + i] != MPI_INFO_NULL)
            PMPI_Info_free(&spawn->infos[spawn->count + i]);
    free(spawn->infos);
    free(spawn->handles);
}
