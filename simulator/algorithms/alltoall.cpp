#include "algorithms/alltoall.hpp"

#include "algorithms/exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::alltoall {

namespace {

/** Batches of receives, as many sends, and a wait for all of them; a rank also sends its own block to itself.
 */
void scattered_in_batches(Rank &rank, int batch) {
    const int64_t n = rank.call.count;
    for (int first = 0; first < rank.p; first += batch) {
        const int end = std::min(first + batch, rank.p);
        for (int step = first; step < end; ++step) {
            const int from = neighbour(rank, step);
            rank.irecv(from, block(rank.output(), from, n));
        }
        for (int step = first; step < end; ++step) {
            const int to = neighbour(rank, -step);
            rank.isend(to, block(rank.input(), to, n));
        }
        rank.wait_all();
    }
}

} // namespace

void linear(Rank &rank) {
    const int64_t n = rank.call.count;
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    for (int step = 1; step < rank.p; ++step) {
        const int from = neighbour(rank, step);
        rank.irecv(from, block(rank.output(), from, n));
    }
    for (int step = 1; step < rank.p; ++step) {
        const int to = neighbour(rank, -step);
        rank.isend(to, block(rank.input(), to, n));
    }
}

void linear_sync(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int others = rank.p - 1;
    const int64_t limit = parameters["requests"];
    const int window = limit == 0 || limit > others ? others : static_cast<int>(limit);
    if (window == others)
        return linear(rank);
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    const CompletionQueue receives = rank.completion_queue();
    const CompletionQueue sends = rank.completion_queue();
    const auto receive = [&](int step) {
        const int from = neighbour(rank, step);
        rank.enqueue(receives, rank.irecv(from, block(rank.output(), from, n)));
    };
    const auto send = [&](int step) {
        const int to = neighbour(rank, -step);
        rank.enqueue(sends, rank.isend(to, block(rank.input(), to, n)));
    };
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

void two_proc(Rank &rank) {
    if (rank.p != 2)
        throw std::invalid_argument("two_proc is for 2 ranks, not for " + std::to_string(rank.p));
    const int64_t n = rank.call.count;
    const int other = 1 - rank.id;
    rank.sendrecv(other, block(rank.input(), other, n), other, block(rank.output(), other, n));
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
}

void scattered(Rank &rank, const Parameters &parameters) {
    const int64_t throttle = parameters["throttle"];
    scattered_in_batches(rank,
                         throttle == 0 ? rank.p : static_cast<int>(std::min<int64_t>(throttle, rank.p)));
}

void scattered_by_four(Rank &rank) {
    scattered_in_batches(rank, 4);
}

void scattered_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int window = static_cast<int>(std::min<int64_t>(parameters["outstanding_tasks"], rank.p));
    const int batch = static_cast<int>(std::min<int64_t>(parameters["batch_size"], rank.p));
    std::vector<Request> receives(static_cast<size_t>(window));
    std::vector<Request> sends(static_cast<size_t>(window));
    const auto post = [&](int step) {
        const int from = neighbour(rank, step);
        const int to = neighbour(rank, -step);
        receives[static_cast<size_t>(step % window)] = rank.irecv(from, block(rank.output(), from, n));
        sends[static_cast<size_t>(step % window)] = rank.isend(to, block(rank.input(), to, n));
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

namespace {

enum class Partners { pair, ring };
enum class Barriers { none, one, every_step };

template <Partners partners> int target(const Rank &rank, int step) {
    return partners == Partners::pair ? rank.id ^ step : neighbour(rank, step);
}

template <Partners partners> int source(const Rank &rank, int step) {
    return partners == Partners::pair ? rank.id ^ step : neighbour(rank, -step);
}

template <Partners partners> void require_power_of_two_for_pairs(const Rank &rank) {
    if (partners == Partners::pair && !is_power_of_two(rank.p))
        throw std::invalid_argument("alltoall by pairs needs a power of two of ranks; " +
                                    std::to_string(rank.p) + " is not one");
}

template <Partners partners> void one_step(Rank &rank, Span input, Span output, int step) {
    const int64_t n = rank.call.count;
    const int receiver = target<partners>(rank, step);
    const int sender = source<partners>(rank, step);
    exchange(rank, receiver, block(input, receiver, n), sender, block(output, sender, n));
}

template <Partners partners, Barriers barriers> void stepwise(Rank &rank) {
    require_power_of_two_for_pairs<partners>(rank);
    const Span input = rank.input();
    const Span output = rank.output();
    if (barriers == Barriers::one)
        linear_barrier(rank);
    for (int step = 0; step < rank.p; ++step) {
        if (barriers == Barriers::every_step)
            linear_barrier(rank);
        one_step<partners>(rank, input, output, step);
    }
}

/** After each step, sends one byte to the rank that the next step receives from, and receives one from the
 * rank that it sends to. The byte is rounded to a number of elements. */
template <Partners partners> void stepwise_with_light_barriers(Rank &rank) {
    require_power_of_two_for_pairs<partners>(rank);
    const Span input = rank.input();
    const Span output = rank.output();
    const int64_t byte = rank.call.element_bytes <= 2 && rank.call.count > 0 ? 1 : 0;
    const Span ready = input.part(0, byte); // the content does not matter
    const Span peer_is_ready = rank.scratch(byte);
    one_step<partners>(rank, input, output, 0);
    for (int step = 1; step < rank.p; ++step) {
        one_step<partners>(rank, input, output, step);
        if (step + 1 < rank.p)
            rank.sendrecv(source<partners>(rank, step + 1), ready, target<partners>(rank, step + 1),
                          peer_is_ready);
    }
}

} // namespace

void pair(Rank &rank) {
    stepwise<Partners::pair, Barriers::none>(rank);
}

void pair_one_barrier(Rank &rank) {
    stepwise<Partners::pair, Barriers::one>(rank);
}

void pair_every_barrier(Rank &rank) {
    stepwise<Partners::pair, Barriers::every_step>(rank);
}

void pair_light_barrier(Rank &rank) {
    stepwise_with_light_barriers<Partners::pair>(rank);
}

void pair_or_ring(Rank &rank) {
    if (is_power_of_two(rank.p))
        stepwise<Partners::pair, Barriers::none>(rank);
    else
        stepwise<Partners::ring, Barriers::none>(rank);
}

void pairwise_openmpi(Rank &rank) {
    const Span input = rank.input();
    const Span output = rank.output();
    for (int step = 1; step <= rank.p; ++step)
        one_step<Partners::ring>(rank, input, output, step);
}

void ring(Rank &rank) {
    stepwise<Partners::ring, Barriers::none>(rank);
}

void ring_one_barrier(Rank &rank) {
    stepwise<Partners::ring, Barriers::one>(rank);
}

void ring_every_barrier(Rank &rank) {
    stepwise<Partners::ring, Barriers::every_step>(rank);
}

void ring_light_barrier(Rank &rank) {
    stepwise_with_light_barriers<Partners::ring>(rank);
}

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
        {"simgrid", "pair", pair, scales},
        {"simgrid", "ring", ring, scales},
        {"simgrid", "bruck", bruck_simgrid, scales},
        {"simgrid", "2dmesh", mesh_2d, scales},
        {"simgrid", "3dmesh", mesh_3d, scales},
        {"simgrid", "rdb", recursive_doubling, scales},
        {"simgrid", "mvapich2_scatter_dest", scattered_by_four, scales},
        {"simgrid", "pair_light_barrier", pair_light_barrier},
        {"simgrid", "pair_mpi_barrier", pair_every_barrier, scales},
        {"simgrid", "pair_one_barrier", pair_one_barrier, scales},
        {"simgrid", "ring_light_barrier", ring_light_barrier},
        {"simgrid", "ring_mpi_barrier", ring_every_barrier, scales},
        {"simgrid", "ring_one_barrier", ring_one_barrier, scales},
    };
}

} // namespace offbeat::algorithms
