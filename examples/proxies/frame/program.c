/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/program.h"

#include <stdarg.h>
#include <stdlib.h>

int program_refuse(const program *p, const char *format, ...) {
    va_list values;
    if (p->rank == 0) {
        fprintf(stderr, "%s: ", p->name);
        va_start(values, format);
        vfprintf(stderr, format, values);
        va_end(values);
        fputc('\n', stderr);
    }
    return 2;
}

MPI_Comm program_grid(const program *p) {
    MPI_Comm grid;
    int places[3] = {0, 0, 0};
    MPI_Dims_create(p->processes, 3, places);
    MPI_Cart_create(MPI_COMM_WORLD, 3, places, (int[]){0, 0, 0}, 0, &grid);
    return grid;
}

void *program_allocate(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory) {
        fprintf(stderr,
                "out of memory: %.3g GB cannot be allocated; start more processes or choose a smaller grid\n",
                (double)count * (double)size / 1e9);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void print_help(const program *p) {
    printf("usage: mpirun -n P %s [OPTION [VALUE]]...\n\n%s\n\n", p->name, p->purpose);
    options_print_help(p->options, stdout);
    printf("\nEach iteration begins with a call of MPI_Pcontrol(2), a mark for tracers.\n"
           "Exit status: 0; 1 if the result is wrong; 2 if an option is refused.\n");
}

int program_main(program *p, int argc, char **argv, int (*run)(const program *p, void *context),
                 void *context) {
    char why[200];
    int status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->processes);
    const int found = options_read(p->options, argc, argv, why, sizeof why);
    if (found < 0)
        status = program_refuse(p, "%s", why);
    else if (found == 0)
        status = run(p, context);
    else if (p->rank == 0)
        print_help(p);
    MPI_Finalize();
    return status;
}
