/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The duration of a sync against the number of processes, in a network model: one line of JSON for each
 * number. Usage: sync_time METHOD THERE_NS BACK_NS JITTER_NS P...
 */
#include "testing/network_model.h"

#include <stdio.h>
#include <stdlib.h>

enum { SYNCS = 3 };

/* The last of some syncs a second apart: the first one learns more, as nothing is known. */
static void time_syncs(const offbeat_sync_method *method, network_delays delays, int size) {
    network_model network = network_create(size, method, delays, 1);
    network_distort_clocks(&network, 50, 0.01);
    int64_t began_ns = 0, done_ns = 0, exchanges = 0, worst_ns = 0, bound_ns = 0;
    for (int sync = 0; sync < SYNCS; sync++) {
        began_ns = done_ns + 1000000000;
        exchanges = network.exchanges;
        done_ns = network_sync(&network, began_ns);
    }
    for (int rank = 1; rank < size; rank++) {
        int64_t error_ns = llabs(network_error_ns(&network, rank, done_ns));
        int64_t own_bound_ns = network_bound_ns(&network, rank, done_ns);
        worst_ns = error_ns > worst_ns ? error_ns : worst_ns;
        bound_ns = own_bound_ns > bound_ns ? own_bound_ns : bound_ns;
    }
    printf("{\"method\":\"%s\",\"p\":%d,\"sync_ns\":%lld,\"exchanges\":%lld,\"error_ns\":%lld,\"bound_ns\":%"
           "lld}\n",
           method->name, size, (long long)(done_ns - began_ns), (long long)(network.exchanges - exchanges),
           (long long)worst_ns, (long long)bound_ns);
    fflush(stdout);
    network_free(&network);
}

/* A number that is at least 0; -1 when the text is none. */
static double number(const char *text) {
    char *end;
    double value = strtod(text, &end);
    return end != text && *end == '\0' && value >= 0 && value < 1e9 ? value : -1;
}

int main(int argc, char **argv) {
    double values[3] = {-1, -1, -1};
    for (int i = 0; i < 3 && i + 2 < argc; i++)
        values[i] = number(argv[i + 2]);
    const offbeat_sync_method *method = argc > 5 ? offbeat_clock_method_named(argv[1]) : NULL;
    if (method == NULL || values[0] < 0 || values[1] < 0 || values[2] < 0) {
        fputs("Usage: sync_time METHOD THERE_NS BACK_NS JITTER_NS P...\n", stderr);
        return 2;
    }
    network_delays delays = {.to_reference_ns = values[0], .to_client_ns = values[1], .jitter_ns = values[2]};
    for (int i = 5; i < argc; i++) {
        int size = (int)number(argv[i]);
        if (size < 1 || size > 1 << 20) {
            fprintf(stderr, "'%s' is no number of processes.\n", argv[i]);
            return 2;
        }
        time_syncs(method, delays, size);
    }
    return 0;
}
