/*
 * Requests of which some fail, completed in all ways: `failing_requests FILE CASE...`, where a case is
 * FUNCTION HANDLER STATUSES SEED.
 *
 * FUNCTION is the completing call (Wait, Waitall, ..., or Recv, Mrecv, Sendrecv), HANDLER is fatal, return or
 * user, STATUSES is ignored or read. The seed draws the number of requests, which of them receive a message
 * that is longer than the buffer (MPI_ERR_TRUNCATE), which have wildcards, and which are sends. The last
 * process sends to process 0, a single process to itself. Process 0 writes into FILE what each call returns
 * and what was received: a launcher can lose what an aborting process prints.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, LENGTH = 4 };

static unsigned long state;
static MPI_Comm order, messages; /* `order` decides when messages are sent; each case has its `messages` */
static FILE *file;
static MPI_Request requests[MOST];
static int rank, sender, count, is_read, sent[MOST][LENGTH], received[MOST][LENGTH];
static MPI_Status statuses[MOST];

static int draw(int below) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((state >> 33) % (unsigned long)below);
}

static const char *class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class == MPI_SUCCESS         ? "success"
           : class == MPI_ERR_TRUNCATE  ? "truncated"
           : class == MPI_ERR_IN_STATUS ? "in status"
           : class == MPI_ERR_PENDING   ? "pending"
                                        : "another error";
}

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    fprintf(file, "handler: %s\n", class_of(*code));
}

static void print_requests(const char *function, int code, int number, const MPI_Status *read,
                           int read_count) {
    fprintf(file, "%s: %s %d;", function, class_of(code), number);
    for (int i = 0; i < count; i++)
        fprintf(file, " %d:%s", i, requests[i] == MPI_REQUEST_NULL ? "null" : "active");
    for (int i = 0; is_read && i < read_count; i++)
        fprintf(file, " from %d tag %d", read[i].MPI_SOURCE, read[i].MPI_TAG);
    if (is_read && code != MPI_SUCCESS)
        for (int i = 0; i < read_count; i++)
            fprintf(file, " %s", class_of(read[i].MPI_ERROR));
    fprintf(file, "\n");
}

static void send(int i, int is_long) {
    for (int k = 0; k < LENGTH; k++)
        sent[i][k] = 10 * i + k;
    if (rank == sender)
        MPI_Bsend(sent[i], is_long ? LENGTH : 1, MPI_INT, 0, i, messages);
}

/* Waits until all messages of the sender have arrived: libraries deliver the messages between two processes
 * of a node in their order. MPICH 5 reports that a message is too long depending on whether it arrived before
 * its receive was posted. */
static void wait_for_messages(void) {
    if (rank == sender)
        MPI_Bsend(NULL, 0, MPI_INT, 0, 0, order);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_INT, sender, 0, order, MPI_STATUS_IGNORE);
}

/* Posts a receive of a message that was sent before, or is sent after it; or a send. */
static void post(int i) {
    const int is_long = draw(3) == 0, is_first = draw(2), is_any = draw(3) == 0, is_send = draw(5) == 0;
    const int source = is_any ? MPI_ANY_SOURCE : sender;
    MPI_Request request = MPI_REQUEST_NULL;
    if (is_send) {
        if (rank == sender)
            MPI_Irecv(received[i], LENGTH, MPI_INT, 0, i, messages, &request);
        if (rank == 0)
            MPI_Isend(sent[i], 2, MPI_INT, sender, i, messages, &requests[i]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    if (is_first) {
        send(i, is_long);
        wait_for_messages();
    }
    const int code =
        rank != 0 ? MPI_SUCCESS : MPI_Irecv(received[i], 2, MPI_INT, source, i, messages, &requests[i]);
    if (code != MPI_SUCCESS)
        fprintf(file, "Irecv: %s\n", class_of(code));
    MPI_Barrier(order);
    if (!is_first)
        send(i, is_long);
}

/* Until all requests are complete, and at most so often: some libraries leave a request that failed active.
 */
static void complete(const char *function) {
    MPI_Status *all = is_read ? statuses : MPI_STATUSES_IGNORE,
               *first = is_read ? statuses : MPI_STATUS_IGNORE;
    int index = 0, indices[MOST], flag = 0, code;
    for (int turn = 0; turn < 8; turn++) {
        if (strcmp(function, "Waitall") == 0) {
            code = MPI_Waitall(count, requests, all);
            print_requests(function, code, 0, statuses, count);
            break;
        }
        if (strcmp(function, "Testall") == 0) {
            for (flag = 0, code = MPI_SUCCESS; !flag && code == MPI_SUCCESS;)
                code = MPI_Testall(count, requests, &flag, all);
            print_requests(function, code, flag, statuses, count);
            break;
        }
        if (strcmp(function, "Waitsome") == 0) {
            code = MPI_Waitsome(count, requests, &index, indices, all);
            print_requests(function, code, index, statuses, index == MPI_UNDEFINED ? 0 : index);
        } else if (strcmp(function, "Testsome") == 0) {
            for (index = 0, code = MPI_SUCCESS; index == 0 && code == MPI_SUCCESS;)
                code = MPI_Testsome(count, requests, &index, indices, all);
            print_requests(function, code, index, statuses, index == MPI_UNDEFINED ? 0 : index);
        } else if (strcmp(function, "Waitany") == 0) {
            code = MPI_Waitany(count, requests, &index, first);
            print_requests(function, code, index, statuses, index == MPI_UNDEFINED ? 0 : 1);
        } else if (strcmp(function, "Testany") == 0) {
            for (flag = 0, code = MPI_SUCCESS; !flag && code == MPI_SUCCESS;)
                code = MPI_Testany(count, requests, &index, &flag, first);
            print_requests(function, code, index, statuses, index == MPI_UNDEFINED ? 0 : 1);
        } else if (turn < count) {
            if (strcmp(function, "Test") == 0)
                for (flag = 0, code = MPI_SUCCESS; !flag && code == MPI_SUCCESS;)
                    code = MPI_Test(&requests[turn], &flag, first);
            else
                code = MPI_Wait(&requests[turn], first);
            print_requests(function, code, turn, statuses, 1);
        } else {
            break;
        }
        if (index == MPI_UNDEFINED)
            break;
    }
}

static void call_blocking(const char *function) {
    MPI_Status *status = is_read ? statuses : MPI_STATUS_IGNORE;
    MPI_Message message;
    const int is_long = draw(2), source = draw(2) ? MPI_ANY_SOURCE : sender;
    int code = MPI_SUCCESS;
    requests[0] = MPI_REQUEST_NULL;
    count = 1;
    send(0, is_long);
    wait_for_messages();
    if (rank != 0)
        return;
    if (strcmp(function, "Sendrecv") == 0) {
        code = MPI_Sendrecv(sent[0], 1, MPI_INT, MPI_PROC_NULL, 0, received[0], 2, MPI_INT, source, 0,
                            messages, status);
    } else if (strcmp(function, "Mrecv") == 0) {
        MPI_Mprobe(source, 0, messages, &message, status);
        code = MPI_Mrecv(received[0], 2, MPI_INT, &message, status);
    } else {
        code = MPI_Recv(received[0], 2, MPI_INT, source, 0, messages, status);
    }
    print_requests(function, code, 0, statuses, 1);
}

static void set_handler(const char *name) {
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    if (strcmp(name, "return") == 0)
        handler = MPI_ERRORS_RETURN;
    else if (strcmp(name, "user") == 0)
        MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(messages, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* @param words FUNCTION HANDLER STATUSES SEED */
static void run_case(char **words) {
    const char *function = words[0];
    if (rank == 0)
        fprintf(file, "%s %s %s %s\n", words[0], words[1], words[2], words[3]);
    MPI_Comm_dup(order, &messages);
    set_handler(words[1]);
    is_read = strcmp(words[2], "read") == 0;
    state = strtoul(words[3], NULL, 10) * 2654435761UL + 1;
    memset(received, 0, sizeof received);
    memset(statuses, 0, sizeof statuses);
    if (strstr("Recv Mrecv Sendrecv", function) != NULL) {
        call_blocking(function);
    } else {
        count = 1 + draw(MOST);
        for (int i = 0; i < count; i++) {
            requests[i] = MPI_REQUEST_NULL;
            post(i);
        }
        wait_for_messages();
        if (rank == 0)
            complete(function);
    }
    for (int i = 0; i < MOST && rank == 0; i++)
        fprintf(file, "%d %d%s", received[i][0], received[i][1], i + 1 < MOST ? ", " : "\n");
}

int main(int argc, char **argv) {
    static char buffer[1 << 16];
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &order);
    sender = size - 1;
    file = fopen(rank == 0 ? argv[1] : "/dev/null", "w");
    setvbuf(file, NULL, _IOLBF, 0);
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int at = 2; at + 3 < argc; at += 4) {
        run_case(argv + at);
        MPI_Barrier(order);
    }
    MPI_Finalize();
    return 0;
}
