/* SPDX-License-Identifier: BSD-3-Clause */
#include "testing/network_model.h"

#include <stdio.h>
#include <stdlib.h>

double network_random(uint64_t *seed) {
    /* SplitMix64 (Steele, Lea and Flood): any seed gives a good sequence. */
    uint64_t z = (*seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* -ln(1 - x) for a random x, without the mathematical library: by halving the argument and a short series. */
static double exponential(uint64_t *seed) {
    double rest = 1 - network_random(seed), sum = 0;
    int halvings = 0;
    while (rest < 0.5) {
        rest *= 2;
        halvings++;
    }
    double y = (1 - rest) / (1 + rest), power = y;
    for (int i = 1; i < 20; i += 2, power *= y * y)
        sum += 2 * power / i;
    return sum + 0.69314718055994531 * halvings;
}

static int64_t random_latency_ns(network_model *network, double minimum_ns) {
    const network_delays *delays = &network->delays;
    double latency_ns = minimum_ns + delays->jitter_ns * exponential(&network->seed);
    if (network_random(&network->seed) < delays->tail)
        latency_ns += delays->jitter_ns * (1 / (network_random(&network->seed) + 1e-3) - 0.99);
    if (network_random(&network->seed) < delays->preemption_share)
        latency_ns += delays->preemption_ns * network_random(&network->seed);
    return (int64_t)latency_ns;
}

network_model network_create(int size, const offbeat_sync_method *method, network_delays delays,
                             uint64_t seed) {
    network_model network = {.size = size, .delays = delays, .resolution_ns = 1, .seed = seed};
    network.processes = calloc((size_t)size, sizeof *network.processes);
    if (network.processes == NULL) {
        fprintf(stderr, "Not enough memory for a model of %d processes.\n", size);
        exit(1);
    }
    for (int rank = 0; rank < size; rank++) {
        offbeat_clock_sync_stage star_stage = {.is_star = method->is_star, .index = rank, .count = size};
        network.processes[rank].schedule.stages[0] = star_stage;
        offbeat_clock_state_init(&network.processes[rank].state, method, 1);
    }
    return network;
}

void network_free(network_model *network) {
    free(network->processes);
    network->processes = NULL;
}

/* A number in [-1, 1]; -1 or 1 in half of the cases. */
static double random_or_extreme(uint64_t *seed) {
    double share = 4 * network_random(seed) - 2;
    if (share > 1)
        return 1;
    return share < -1 ? -1 : share;
}

void network_distort_clocks(network_model *network, double drift_ppm, double wander_ppm_per_s) {
    for (int rank = 0; rank < network->size; rank++) {
        offbeat_clock_distortion *distortion = &network->processes[rank].distortion;
        double period_s = 3 + 50 * network_random(&network->seed);
        distortion->offset_ns = (int64_t)((network_random(&network->seed) - 0.5) * 1e15);
        distortion->wander_ppm = wander_ppm_per_s * period_s / 4 * random_or_extreme(&network->seed);
        distortion->wander_period_ns = wander_ppm_per_s > 0 ? period_s * 1e9 : 0;
        double largest_wander_ppm =
            distortion->wander_ppm < 0 ? -distortion->wander_ppm : distortion->wander_ppm;
        distortion->drift_ppm = random_or_extreme(&network->seed) * (drift_ppm - largest_wander_ppm);
    }
}

void network_set_resolution(network_model *network, int64_t resolution_ns) {
    network->resolution_ns = resolution_ns;
    for (int rank = 0; rank < network->size; rank++)
        network->processes[rank].state.resolution_ns = resolution_ns;
}

/* A reading of a process's clock at a true time: the multiple of the resolution below or above it. */
static int64_t local_ns(const network_model *network, const network_process *process, int64_t at_ns) {
    const int64_t resolution_ns = network->resolution_ns;
    uint64_t chance = (uint64_t)(at_ns / resolution_ns) + (uint64_t)(process - network->processes);
    int64_t exact_ns = offbeat_clock_virtual_ns(&process->distortion, at_ns);
    int64_t remainder_ns = exact_ns % resolution_ns;
    int64_t rounded_down_ns = exact_ns - (remainder_ns < 0 ? remainder_ns + resolution_ns : remainder_ns);
    return network_random(&chance) < 0.5 ? rounded_down_ns : rounded_down_ns + resolution_ns;
}

/* One ping-pong exchange; advances `at_ns` to the true time of its end. */
static offbeat_clock_exchange simulate_exchange(network_model *network, const network_process *client,
                                                const network_process *reference, int64_t *at_ns) {
    offbeat_clock_exchange exchange = {.sent_ns = local_ns(network, client, *at_ns)};
    *at_ns += random_latency_ns(network, network->delays.to_reference_ns);
    exchange.answered_local_ns = local_ns(network, reference, *at_ns);
    exchange.answered_ns = offbeat_clock_model_global_ns(&reference->state.model, exchange.answered_local_ns);
    exchange.answered_error_ns = offbeat_clock_state_error_ns(&reference->state, exchange.answered_local_ns,
                                                              exchange.answered_local_ns);
    *at_ns += random_latency_ns(network, network->delays.to_client_ns);
    exchange.received_ns = local_ns(network, client, *at_ns);
    network->exchanges++;
    return exchange;
}

static void simulate_pair_sync(network_model *network, network_process *client, network_process *reference) {
    offbeat_clock_pair_sync sync;
    const offbeat_clock_hello hello = offbeat_clock_state_hello(&reference->state);
    int64_t at_ns = client->free_ns > reference->free_ns ? client->free_ns : reference->free_ns;
    at_ns += random_latency_ns(network, network->delays.to_client_ns);
    offbeat_clock_pair_sync_begin(&sync, &client->state, &hello);
    while (offbeat_clock_pair_sync_needs_more(&sync)) {
        offbeat_clock_exchange exchange = simulate_exchange(network, client, reference, &at_ns);
        offbeat_clock_pair_sync_add(&sync, &exchange);
    }
    offbeat_clock_pair_sync_end(&sync);
    client->free_ns = at_ns;
    reference->free_ns = at_ns + random_latency_ns(network, network->delays.to_reference_ns);
}

/* Performs the next step of a process when its peer's next step is the same one. @return whether it did */
static int perform_next_step(network_model *network, int rank) {
    network_process *process = &network->processes[rank];
    offbeat_clock_sync_step step, peer_step;
    if (!offbeat_clock_sync_schedule_step(&process->schedule, process->next_step, &step))
        return 0;
    network_process *peer = &network->processes[step.peer];
    if (!offbeat_clock_sync_schedule_step(&peer->schedule, peer->next_step, &peer_step) ||
        peer_step.peer != rank || peer_step.is_reference == step.is_reference)
        return 0;
    simulate_pair_sync(network, step.is_reference ? peer : process, step.is_reference ? process : peer);
    process->next_step++;
    peer->next_step++;
    return 1;
}

int64_t network_sync(network_model *network, int64_t at_ns) {
    int64_t ended_ns = at_ns;
    for (int rank = 0; rank < network->size; rank++) {
        network->processes[rank].next_step = 0;
        network->processes[rank].free_ns = at_ns;
    }
    offbeat_clock_state_set_root(&network->processes[0].state,
                                 local_ns(network, &network->processes[0], at_ns));
    for (int has_progress = 1; has_progress;) {
        has_progress = 0;
        for (int rank = 0; rank < network->size; rank++)
            while (perform_next_step(network, rank))
                has_progress = 1;
    }
    for (int rank = 0; rank < network->size; rank++)
        if (network->processes[rank].free_ns > ended_ns)
            ended_ns = network->processes[rank].free_ns;
    return ended_ns;
}

int64_t network_error_ns(const network_model *network, int rank, int64_t at_ns) {
    const network_process *process = &network->processes[rank];
    return offbeat_clock_model_global_ns(&process->state.model, local_ns(network, process, at_ns)) -
           offbeat_clock_virtual_ns(&network->processes[0].distortion, at_ns);
}

int64_t network_bound_ns(const network_model *network, int rank, int64_t at_ns) {
    const network_process *process = &network->processes[rank];
    return offbeat_clock_model_bound_ns(&process->state.model, local_ns(network, process, at_ns));
}
