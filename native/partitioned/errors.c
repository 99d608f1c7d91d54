/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/errors.h"

#include "harmonize/private_comm.h"

#include <offbeat/partitioned.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* MPI's strings are shorter with some libraries. */
enum { SENTENCE_BYTES = 256, CLASSES = 16 };

static _Thread_local char last_sentence[SENTENCE_BYTES];

/* A code for each class that occurred: MPI has few codes, so their sentences are replaced. */
static struct {
    int error_class, code;
} known_codes[CLASSES];
static int known_count;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

int offbeat_partitioned_note(int code) {
    char sentence[MPI_MAX_ERROR_STRING];
    int length;
    if (code != MPI_SUCCESS && PMPI_Error_string(code, sentence, &length) == MPI_SUCCESS)
        snprintf(last_sentence, sizeof last_sentence, "%.*s", SENTENCE_BYTES - 1, sentence);
    return code;
}

int offbeat_partitioned_raise(MPI_Comm comm, int code) {
    return code == MPI_SUCCESS ? code : offbeat_raise_error(comm, offbeat_partitioned_note(code));
}

/* Whether MPI gives a code its sentence: MPICH 4.0 does so only for codes of classes that the program added.
 */
static int has_sentence(int code) {
    char sentence[MPI_MAX_ERROR_STRING];
    int length;
    return PMPI_Error_string(code, sentence, &length) == MPI_SUCCESS && strcmp(sentence, last_sentence) == 0;
}

/* A code of a class with the last sentence, known_lock being held; the class itself when MPI has no such
 * code. */
static int code_of(int error_class) {
    int i = 0;
    while (i < known_count && known_codes[i].error_class != error_class)
        i++;
    if (i == CLASSES ||
        (i == known_count && PMPI_Add_error_code(error_class, &known_codes[i].code) != MPI_SUCCESS))
        return error_class;
    known_codes[i].error_class = error_class;
    known_count += i == known_count;
    PMPI_Add_error_string(known_codes[i].code, last_sentence);
    return has_sentence(known_codes[i].code) ? known_codes[i].code : error_class;
}

/* Prints the last sentence if the communicator's handler ends the program without it. */
static void print_if_fatal(MPI_Comm comm) {
    MPI_Errhandler handler;
    if (PMPI_Comm_get_errhandler(comm == MPI_COMM_NULL ? OFFBEAT_DEFAULT_HANDLER_COMM : comm, &handler) !=
        MPI_SUCCESS)
        return;
    if (handler == MPI_ERRORS_ARE_FATAL)
        fprintf(stderr, "%s\n", last_sentence);
    PMPI_Errhandler_free(&handler);
}

int offbeat_partitioned_fail(MPI_Comm comm, int error_class, const char *sentence, ...) {
    va_list arguments;
    va_start(arguments, sentence);
    vsnprintf(last_sentence, sizeof last_sentence, sentence, arguments);
    va_end(arguments);
    pthread_mutex_lock(&known_lock);
    int code = code_of(error_class);
    pthread_mutex_unlock(&known_lock);
    if (code == error_class)
        print_if_fatal(comm);
    return offbeat_raise_error(comm, code);
}

const char *offbeat_partitioned_error(void) {
    return last_sentence;
}
