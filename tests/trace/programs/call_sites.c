/* Calls through wrappers and through functions that the compiler inlines into their callers. */
#include <mpi.h>
#include <time.h>

static inline __attribute__((always_inline)) int exchanged(int x) {
    int sum;
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum % 7;
}

/* A function with a symbol that ends long before the next code, which has no symbol. */
__attribute__((noinline)) int dot(int x) {
    int largest;
    MPI_Allreduce(&x, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return largest + 1;
}

static void wait_ms(int is_late, int ms) {
    const struct timespec time = {0, ms * 1000000L};
    if (is_late)
        nanosleep(&time, NULL);
}

/* Rank 0 is late in one of these functions, rank 1 in the other, by more than a busy machine delays them. */
__attribute__((noinline)) int first(int x, int rank) {
    wait_ms(rank == 0, 10);
    return dot(x) + 1;
}
__attribute__((noinline)) int second(int x, int rank) {
    wait_ms(rank == 1, 10);
    return dot(x) + 2;
}

int main(int argc, char **argv) {
    int x = 1, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6; i++)
        x = exchanged(x);
    x = exchanged(x + 1);
    x = exchanged(x + 2);
    for (int i = 0; i < 10; i++) {
        x = first(x, rank) % 5;
        x = second(x, rank) % 5;
    }
    MPI_Finalize();
    return x < 0;
}
