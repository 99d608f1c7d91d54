#include "algorithms/alltoall.hpp"

#include "algorithms/exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::alltoall {

namespace {

Span block_from(const Rank &rank, int from) {
    return block(rank.output(), from, rank.call.count);
}

Span block_for(const Rank &rank, int to) {
    return block(rank.input(), to, rank.call.count);
}

Request receive_from_distance(Rank &rank, int distance) {
    const int from = neighbour(rank, distance);
    return rank.irecv(from, block_from(rank, from));
}

Request send_to_distance(Rank &rank, int distance) {
    const int to = neighbour(rank, distance);
    return rank.isend(to, block_for(rank, to));
}

/** Receives from the ranks at the distances [first, end), and sends to those as far before this one. */
void post_batch(Rank &rank, int first, int end) {
    for (int distance = first; distance < end; ++distance)
        receive_from_distance(rank, distance);
    for (int distance = first; distance < end; ++distance)
        send_to_distance(rank, -distance);
}

void copy_own_block(Rank &rank) {
    rank.copy(block_from(rank, rank.id), block_for(rank, rank.id));
}

/** Open MPI's ompi_coll_base_alltoall_intra_basic_linear, SimGrid's alltoall__basic_linear: receives from
 * the next rank on, then sends from the previous rank down; one wait.
 * Rounds: 1. Bytes: m * (p - 1). */
void linear(Rank &rank) {
    copy_own_block(rank);
    post_batch(rank, 1, rank.p);
}

/** Open MPI's ompi_coll_base_alltoall_intra_linear_sync: linear() with at most `requests` (0: any number)
 * receives and as many sends in flight: when one completes, the next of its kind is posted. Without a
 * limit:
 * Rounds: 1. Bytes: m * (p - 1). */
void linear_sync(Rank &rank, const Parameters &parameters) {
    const int others = rank.p - 1;
    const int64_t limit = parameters["requests"];
    if (limit == 0 || limit >= others)
        return linear(rank);
    const int window = static_cast<int>(limit);
    copy_own_block(rank);
    const CompletionQueue receives = rank.completion_queue();
    const CompletionQueue sends = rank.completion_queue();
    const auto receive = [&](int step) { rank.enqueue(receives, receive_from_distance(rank, step)); };
    const auto send = [&](int step) { rank.enqueue(sends, send_to_distance(rank, -step)); };
    for (int step = 1; step <= window; ++step)
        receive(step);
    for (int step = 1; step <= window; ++step)
        send(step);
    const Vertex start = rank.current_vertex();
    for (int step = window + 1; step <= window + others; ++step) {
        rank.pop(receives);
        if (step <= others)
            receive(step);
    }
    rank.continue_at(start);
    for (int step = window + 1; step <= window + others; ++step) {
        rank.pop(sends);
        if (step <= others)
            send(step);
    }
}

/** Open MPI's ompi_coll_base_alltoall_intra_two_procs.
 * Rounds: 1. Bytes: m. */
void two_proc(Rank &rank) {
    require_two_ranks(rank);
    const int other = 1 - rank.id;
    rank.sendrecv(other, block_for(rank, other), other, block_from(rank, other));
    copy_own_block(rank);
}

/** SimGrid's alltoall__mvapich2_scatter_dest, with batches of 4: batches of receives, as many sends, and a
 * wait for all of them; a rank also sends its own block to itself.
 * Rounds: p / 4. Bytes: m * p. */
void scattered_in_batches(Rank &rank, int batch) {
    for (int first = 0; first < rank.p; first += batch) {
        post_batch(rank, first, std::min(first + batch, rank.p));
        rank.wait_all();
    }
}

/** MPICH's MPIR_Alltoall_intra_scattered and MPIR_Ialltoall_intra_sched_permuted_sendrecv: batches of
 * `throttle` (0: all).
 * Rounds: ceil(p / throttle). Bytes: m * p. */
void scattered(Rank &rank, const Parameters &parameters) {
    const int64_t throttle = parameters["throttle"];
    scattered_in_batches(rank,
                         throttle == 0 ? rank.p : static_cast<int>(std::min<int64_t>(throttle, rank.p)));
}

/** MPICH's MPIR_TSP_Ialltoall_sched_intra_scattered. Own block included; `outstanding_tasks` pairs of
 * messages in flight: when the oldest `batch_size` pairs are complete, as many new pairs are posted.
 * Rounds: ceil(p / outstanding_tasks). Bytes: m * p. */
void scattered_tasks(Rank &rank, const Parameters &parameters) {
    const int window = static_cast<int>(std::min<int64_t>(parameters["outstanding_tasks"], rank.p));
    const int batch = static_cast<int>(std::min<int64_t>(parameters["batch_size"], rank.p));
    std::vector<Request> receives(static_cast<size_t>(window));
    std::vector<Request> sends(static_cast<size_t>(window));
    const auto post = [&](int step) {
        receives[static_cast<size_t>(step % window)] = receive_from_distance(rank, step);
        sends[static_cast<size_t>(step % window)] = send_to_distance(rank, -step);
    };
    for (int step = 0; step < window; ++step)
        post(step);
    std::vector<Request> oldest;
    for (int first = window; first < rank.p; first += batch) {
        const int end = std::min(first + batch, rank.p);
        oldest.clear();
        for (int step = first; step < std::min(end, first + window); ++step) {
            oldest.push_back(receives[static_cast<size_t>(step % window)]);
            oldest.push_back(sends[static_cast<size_t>(step % window)]);
        }
        rank.continue_at(rank.vertex_after(oldest, {}));
        for (int step = first; step < end; ++step)
            post(step);
    }
}

/** pair: rank xor step, for powers of two only. ring: to the rank `step` after, from the rank `step` before.
 */
enum class Partners { pair, ring };
/** Barriers of all ranks at the start or before every step; light: after every step an exchange with the
 * partners of the next step. */
enum class Barriers { none, one, every_step, light };

int target(const Rank &rank, Partners partners, int step) {
    return partners == Partners::pair ? rank.id ^ step : neighbour(rank, step);
}

int source(const Rank &rank, Partners partners, int step) {
    return partners == Partners::pair ? rank.id ^ step : neighbour(rank, -step);
}

void exchange_blocks(Rank &rank, Partners partners, int step) {
    const int receiver = target(rank, partners, step);
    const int sender = source(rank, partners, step);
    exchange(rank, receiver, block_for(rank, receiver), sender, block_from(rank, sender));
}

/** SimGrid's alltoall__pair, alltoall__ring, and those with _one_barrier, _light_barrier and _mpi_barrier:
 * one partner per step. A light barrier sends one byte to the rank that the next step receives from, and
 * receives one from the rank that it sends to. The byte is rounded to a number of elements.
 * Rounds: p - 1 or p + 1 or 2 * p - 3 or 3 * p - 1. Bytes: m * (p - 1). */
void stepwise(Rank &rank, Partners partners, Barriers barriers) {
    if (partners == Partners::pair && !is_power_of_two(rank.p))
        throw std::invalid_argument("alltoall by pairs needs a power of two of ranks; " +
                                    std::to_string(rank.p) + " is not one");
    const int64_t byte = rank.call.element_bytes <= 2 && rank.call.count > 0 ? 1 : 0;
    const Span ready = rank.input().part(0, byte); // the content does not matter
    const Span peer_is_ready = barriers == Barriers::light ? rank.scratch(byte) : Span{};
    if (barriers == Barriers::one)
        linear_barrier(rank);
    for (int step = 0; step < rank.p; ++step) {
        if (barriers == Barriers::every_step)
            linear_barrier(rank);
        exchange_blocks(rank, partners, step);
        if (barriers == Barriers::light && step > 0 && step + 1 < rank.p)
            rank.sendrecv(source(rank, partners, step + 1), ready, target(rank, partners, step + 1),
                          peer_is_ready);
    }
}

/** MPICH's MPIR_Alltoall_intra_pairwise and MPIR_Ialltoall_intra_sched_pairwise.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void pair_or_ring(Rank &rank) {
    stepwise(rank, is_power_of_two(rank.p) ? Partners::pair : Partners::ring, Barriers::none);
}

/** Open MPI's ompi_coll_base_alltoall_intra_pairwise: a ring with the own block last.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void pairwise_openmpi(Rank &rank) {
    for (int step = 1; step <= rank.p; ++step)
        exchange_blocks(rank, Partners::ring, step);
}

} // namespace

} // namespace offbeat::algorithms::alltoall

namespace offbeat::algorithms {

/** MPICH's pairwise_sendrecv_replace and nb(sched_inplace) are missing: MPICH refuses them unless the call
 * passes MPI_IN_PLACE. */
std::vector<Algorithm> alltoall_algorithms() {
    using namespace alltoall;
    return {
        {"openmpi", "linear", linear, scales},
        {"openmpi", "pairwise", pairwise_openmpi, scales},
        {"openmpi", "modified_bruck", bruck_openmpi, scales},
        {"openmpi", "linear_sync", linear_sync, {{"requests", 0}}, scales},
        {"openmpi", "two_proc", two_proc, scales},
        {"mpich", "brucks", bruck_simgrid, scales},
        {"mpich", "k_brucks", bruck_radix, {{"k", 2, 2}}, scales},
        {"mpich", "pairwise", pair_or_ring, scales},
        {"mpich", "scattered", scattered, {{"throttle", 32}}, scales},
        {"mpich", "nb(sched_brucks)", bruck_simgrid, scales},
        {"mpich", "nb(sched_pairwise)", pair_or_ring, scales},
        {"mpich", "nb(sched_permuted_sendrecv)", scattered, {{"throttle", 32}}, scales},
        {"mpich", "nb(tsp_ring)", ring_of_whole_inputs, scales},
        {"mpich", "nb(tsp_brucks)", bruck_tasks, {{"k", 2, 2}, {"buffer_per_nbr", 0}}, scales},
        {"mpich",
         "nb(tsp_scattered)",
         scattered_tasks,
         {{"batch_size", 4, 1}, {"outstanding_tasks", 64, 1}},
         scales},
        {"simgrid", "basic_linear", linear, scales},
        {"simgrid", "pair", fixed(stepwise, Partners::pair, Barriers::none), scales},
        {"simgrid", "ring", fixed(stepwise, Partners::ring, Barriers::none), scales},
        {"simgrid", "bruck", bruck_simgrid, scales},
        {"simgrid", "2dmesh", mesh_2d, scales},
        {"simgrid", "3dmesh", mesh_3d, scales},
        {"simgrid", "rdb", recursive_doubling, scales},
        {"simgrid", "mvapich2_scatter_dest", fixed(scattered_in_batches, 4), scales},
        {"simgrid", "pair_light_barrier", fixed(stepwise, Partners::pair, Barriers::light)},
        {"simgrid", "pair_mpi_barrier", fixed(stepwise, Partners::pair, Barriers::every_step), scales},
        {"simgrid", "pair_one_barrier", fixed(stepwise, Partners::pair, Barriers::one), scales},
        {"simgrid", "ring_light_barrier", fixed(stepwise, Partners::ring, Barriers::light)},
        {"simgrid", "ring_mpi_barrier", fixed(stepwise, Partners::ring, Barriers::every_step), scales},
        {"simgrid", "ring_one_barrier", fixed(stepwise, Partners::ring, Barriers::one), scales},
    };
}

} // namespace offbeat::algorithms
