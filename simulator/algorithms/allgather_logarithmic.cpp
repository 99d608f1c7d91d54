#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allgather {

namespace {

void require_power_of_two(const Rank &rank, const std::string &algorithm) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument(algorithm + " needs a power of two of ranks; " + std::to_string(rank.p) +
                                    " is not one");
}

/** Copies `rotated` to the output: its first block is this rank's, the next ones are those of the ranks after
 * it. */
void rotate_back(Rank &rank, const Span &rotated) {
    const int64_t n = rank.call.count;
    const int blocks_to_end = rank.p - rank.id;
    copy_some(rank, blocks(rank.output(), rank.id, blocks_to_end, n), blocks(rotated, 0, blocks_to_end, n));
    copy_some(rank, blocks(rank.output(), 0, rank.id, n), blocks(rotated, blocks_to_end, rank.id, n));
}

/** One message of a round of Bruck's algorithm. */
struct Exchange {
    int distance; /**< sent to the rank so far before this one, received from the rank so far after it */
    int64_t blocks;
};

std::vector<Exchange> exchanges_of_round(int p, int64_t weight, int64_t k) {
    std::vector<Exchange> exchanges;
    for (int64_t digit = 1; digit < k && digit * weight < p; ++digit)
        exchanges.push_back({static_cast<int>(digit * weight), std::min(weight, p - digit * weight)});
    return exchanges;
}

} // namespace

/** Open MPI's ompi_coll_base_allgather_intra_bruck, MPICH's MPIR_Allgather_intra_brucks and
 * MPIR_Iallgather_intra_sched_brucks, SimGrid's allgather__bruck, after Bruck et al., Efficient
 * algorithms for all-to-all communications in multiport message-passing systems (1997).
 * Rounds: ceil(lg(p)). Bytes: m * (p - 1). */
void bruck(Rank &rank) {
    const int64_t n = rank.call.count;
    const Span rotated = rank.scratch(rank.p * n);
    copy_some(rank, block(rotated, 0, n), rank.input());
    for (int distance = 1; distance < rank.p; distance *= 2) {
        const int number = std::min(distance, rank.p - distance);
        rank.sendrecv(neighbour(rank, -distance), blocks(rotated, 0, number, n), neighbour(rank, distance),
                      blocks(rotated, distance, number, n));
    }
    rotate_back(rank, rotated);
}

/** MPICH's MPIR_Allgather_intra_k_brucks.
 * Rounds: ceil(log(p, k)). Bytes: m * (p - 1). */
void bruck_radix(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span rotated = rank.id == 0 ? rank.output() : rank.scratch(rank.p * n);
    copy_some(rank, block(rotated, 0, n), rank.input());
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        for (const Exchange &message : exchanges_of_round(rank.p, weight, k)) {
            rank.irecv(neighbour(rank, message.distance),
                       blocks(rotated, message.distance, message.blocks, n));
            rank.isend(neighbour(rank, -message.distance), blocks(rotated, 0, message.blocks, n));
        }
        rank.wait_all();
    }
    if (rank.id != 0)
        rotate_back(rank, rotated);
}

/** MPICH's MPIR_TSP_Iallgather_sched_intra_brucks.
 * Rounds: ceil(log(p, k)). Bytes: m * (p - 1). */
void bruck_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span rotated = rank.id == 0 ? rank.output() : rank.scratch(rank.p * n);
    copy_some(rank, block(rotated, 0, n), rank.input());
    const Vertex start = rank.current_vertex();
    Vertex ready = start; // all receives of the previous rounds are complete
    std::vector<Request> receives;
    std::vector<Request> sends;
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        receives.clear();
        for (const Exchange &message : exchanges_of_round(rank.p, weight, k)) {
            rank.continue_at(start);
            receives.push_back(rank.irecv(neighbour(rank, message.distance),
                                          blocks(rotated, message.distance, message.blocks, n)));
            rank.continue_at(ready);
            sends.push_back(
                rank.isend(neighbour(rank, -message.distance), blocks(rotated, 0, message.blocks, n)));
        }
        ready = rank.vertex_after(receives, std::span<const Vertex>(&ready, 1));
    }
    rank.continue_at(ready);
    rank.wait(sends);
    if (rank.id != 0)
        rotate_back(rank, rotated);
}

/** SimGrid's allgather__rdb.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void recursive_doubling(Rank &rank) {
    rank.copy(block(rank.output(), rank.id, rank.call.count), rank.input());
    exchange_blocks_by_doubling(rank, rank.output(), rank.call.count);
}

/** MPICH's MPIR_Allgather_intra_recursive_doubling and MPIR_Iallgather_intra_sched_recursive_doubling.
 * Rounds: lg(p). Bytes: m * (p - 1). */
void mpich_recursive_doubling(Rank &rank) {
    require_power_of_two(rank, "MPICH's allgather by recursive doubling");
    recursive_doubling(rank);
}

/** Open MPI's ompi_coll_base_allgather_intra_recursivedoubling.
 * Rounds: ceil(lg(p)). Bytes: m * (p - 1). */
void openmpi_recursive_doubling(Rank &rank) {
    if (is_power_of_two(rank.p))
        recursive_doubling(rank);
    else
        bruck(rank);
}

/** SimGrid's allgather__rhv.
 * Rounds: lg(p) + 1. Bytes: m * p. */
void recursive_halving(Rank &rank) {
    require_power_of_two(rank, "allgather by recursive halving");
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    int first = reversed_bits(rank.id, rank.p); // the first block that this rank has
    exchange(rank, first, rank.input(), first, block(output, first, n));
    int number = 1;
    for (int distance = rank.p / 2; distance > 0; distance /= 2, number *= 2) {
        const int partner = rank.id ^ distance;
        const int others = first ^ number;
        rank.sendrecv(partner, blocks(output, first, number, n), partner, blocks(output, others, number, n));
        first = std::min(first, others);
    }
}

/** Open MPI's ompi_coll_base_allgather_intra_sparbit, after Loch and Koslovski, Sparbit: a new
 * logarithmic-cost and data locality-aware MPI allgather algorithm (2021).
 * Rounds: ceil(lg(p)). Bytes: m * (p - 1). */
void sparbit(Rank &rank) {
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const auto p = static_cast<uint32_t>(rank.p);
    const int trailing = std::countr_zero(p);
    const uint32_t skipping = (~(p >> trailing) | 1U)
                              << trailing; // distances at which the partner has one block already
    rank.copy(block(output, rank.id, n), rank.input());
    int64_t blocks = 1; // that this rank has
    for (uint32_t distance = std::bit_ceil(p) / 2; distance > 0; distance /= 2) {
        const int64_t skipped = (distance & skipping) == distance ? 1 : 0;
        const int to = neighbour(rank, static_cast<int>(distance));
        const int from = neighbour(rank, -static_cast<int>(distance));
        for (int64_t i = 0; i < blocks - skipped; ++i) {
            rank.isend(to, block(output, neighbour(rank, -2 * i * distance), n));
            rank.irecv(from, block(output, neighbour(rank, -(2 * i + 1) * distance), n));
        }
        rank.wait_all();
        blocks = 2 * blocks - skipped;
    }
}

namespace {

/** Which ranks exchange which blocks in which phase. */
class ExchangePlan {
  public:
    ExchangePlan(const Rank &rank, int64_t k, Distances distances, const Blocks &blocks)
        : exchange(rank.p, rank.id, k), output_(rank.output()), blocks_(blocks), rank_(rank.id),
          distances_(distances) {
    }

    RecursiveExchange exchange;

    [[nodiscard]] Span all() const {
        return output_;
    }
    [[nodiscard]] Span own(int rank) const {
        return blocks_.block(output_, rank);
    }
    [[nodiscard]] const std::vector<int> &partners(int phase) const {
        const int index = distances_ == Distances::halving ? exchange.phases - 1 - phase : phase;
        return exchange.partners[static_cast<size_t>(index)];
    }
    /** The blocks that a participating rank has before a phase. */
    [[nodiscard]] Span held(int rank, int phase) const {
        const int number = exchange.number(rank);
        return span_of(exchange.ranks_near(
            distances_ == Distances::halving ? exchange.reversed(number) : number, phase));
    }
    [[nodiscard]] Span held(int phase) const {
        return held(rank_, phase);
    }
    /** The rank with which this rank first exchanges blocks: the one with the reversed digits. */
    [[nodiscard]] int mirror() const {
        return distances_ == Distances::halving ? exchange.rank(exchange.reversed(exchange.number(rank_)))
                                                : rank_;
    }
    /** The blocks that a rank has at that time. */
    [[nodiscard]] Span initially_held(int rank) const {
        return span_of(exchange.ranks_near(exchange.number(rank), 0));
    }

  private:
    [[nodiscard]] Span span_of(const RankRange &range) const {
        return blocks_.run(output_, range.from, range.end);
    }

    Span output_;
    Blocks blocks_;
    int rank_;
    Distances distances_;
};

/** Phases [first, end), whose receives are posted together. */
void run_phases(Rank &rank, const ExchangePlan &plan, int first, int end) {
    std::vector<std::vector<Request>> receives;
    for (int phase = first; phase < end; ++phase) {
        auto &of_phase = receives.emplace_back();
        for (const int partner : plan.partners(phase))
            of_phase.push_back(rank.irecv(partner, plan.held(partner, phase)));
    }
    for (int phase = first; phase < end; ++phase) {
        for (const int partner : plan.partners(phase))
            rank.isend(partner, plan.held(phase));
        rank.wait(receives[static_cast<size_t>(phase - first)]);
    }
    rank.wait_all();
}

} // namespace

/** MPICH's MPIR_Allgather_intra_recexch. Halving needs one more round, which moves a block to its mirror.
 * Rounds: log(p, k) or log(p, k) + 1. Bytes: m * (p - 1) or m * p. Other p: one round before and one
 * after. */
void exchange_in_phases(Rank &rank, const Parameters &parameters, Distances distances) {
    const ExchangePlan plan(rank, parameters["k"], distances, Blocks::equal(rank.call.count, rank.p));
    const int phases_at_once = parameters["single_phase_recv"] != 0 ? 1 : 2;
    if (!plan.exchange.participates()) {
        rank.send(plan.exchange.sends_to, rank.input());
        rank.recv(plan.exchange.sends_to, plan.all());
        return;
    }
    rank.copy(plan.own(rank.id), rank.input());
    for (const int other : plan.exchange.receives_from)
        rank.irecv(other, plan.own(other));
    rank.wait_all();
    const int mirror = plan.mirror();
    if (mirror != rank.id)
        rank.sendrecv(mirror, plan.initially_held(rank.id), mirror, plan.initially_held(mirror));
    for (int phase = 0; phase < plan.exchange.phases; phase += phases_at_once)
        run_phases(rank, plan, phase, std::min(phase + phases_at_once, plan.exchange.phases));
    for (const int other : plan.exchange.receives_from)
        rank.isend(other, plan.all());
}

/** MPICH's MPIR_TSP_Iallgather_sched_intra_recexch.
 * Rounds: log(p, k) or log(p, k) + 1. Bytes: m * (p - 1) or m * p. Other p: one round before and one
 * after. */
void exchange_as_tasks(Rank &rank, const Parameters &parameters, Distances distances) {
    Tasks tasks(rank);
    exchange_blocks_as_tasks(rank, tasks, parameters["k"], distances, Blocks::equal(rank.call.count, rank.p),
                             false);
}

void exchange_blocks_as_tasks(Rank &rank, Tasks &tasks, int64_t k, Distances distances, const Blocks &blocks,
                              bool in_place) {
    const ExchangePlan plan(rank, k, distances, blocks);
    if (!plan.exchange.participates()) {
        tasks.isend(plan.exchange.sends_to, in_place ? plan.own(rank.id) : rank.input());
        tasks.fence();
        tasks.irecv(plan.exchange.sends_to, plan.all());
        return;
    }
    Tasks::After copied;
    if (!in_place)
        copied.push_back(tasks.copy(plan.own(rank.id), rank.input()));
    for (const int other : plan.exchange.receives_from)
        tasks.irecv(other, plan.own(other), copied);
    tasks.fence();
    const int mirror = plan.mirror();
    if (mirror != rank.id) {
        tasks.isend(mirror, plan.initially_held(rank.id));
        tasks.irecv(mirror, plan.initially_held(mirror));
    }
    tasks.fence();
    Tasks::After receives;
    for (int phase = 0; phase < plan.exchange.phases; ++phase) {
        for (const int partner : plan.partners(phase))
            tasks.isend(partner, plan.held(phase), receives);
        for (const int partner : plan.partners(phase))
            receives.push_back(tasks.irecv(partner, plan.held(partner, phase)));
    }
    for (const int other : plan.exchange.receives_from)
        tasks.isend(other, plan.all(), receives);
}

} // namespace offbeat::algorithms::allgather
