/*
 * A program with MPI sessions only: its session has a communicator of all processes and
 * one of this process alone, with 5 and 3 calls of MPI_Allreduce. Each process prints the sums.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int sum_on(MPI_Session session, const char *set, const char *tag, int calls) {
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0, one = 1;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    for (int i = 0; i < calls; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    return sum;
}

int main(void) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    const int all = sum_on(session, "mpi://WORLD", "all", 5), own = sum_on(session, "mpi://SELF", "self", 3);
    MPI_Session_finalize(&session);
    char line[64];
    const int bytes = snprintf(line, sizeof line, "sums %d and %d\n", all, own);
    return write(1, line, (size_t)bytes) == bytes ? 0 : 1;
}
