#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_doubling.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allgather {

using schedule::Joint;
using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

void require_power_of_two(const Rank &rank, const std::string &what) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument(what + " needs a power of two of ranks; " + std::to_string(rank.p) +
                                    " is not one");
}

/** `moved` starts with this rank's block, then come those of the ranks after it. */
void rotate_back(Rank &rank, const Span &moved) {
    const int64_t n = rank.call.count;
    const int behind = rank.p - rank.id;
    copy_some(rank, blocks(rank.output(), rank.id, behind, n), blocks(moved, 0, behind, n));
    copy_some(rank, blocks(rank.output(), 0, rank.id, n), blocks(moved, behind, rank.id, n));
}

/** One message of a round of Bruck's algorithm. */
struct Hop {
    int places;     /**< sent so far back, received from so far on */
    int64_t blocks; /**< how many */
};

std::vector<Hop> hops_of_round(int p, int64_t weight, int64_t k) {
    std::vector<Hop> hops;
    for (int64_t digit = 1; digit < k && digit * weight < p; ++digit)
        hops.push_back({static_cast<int>(digit * weight), std::min(weight, p - digit * weight)});
    return hops;
}

int reversed_bits(int number, int p) {
    int reversed = 0;
    for (int bit = 1; bit < p; bit *= 2, number /= 2)
        reversed = reversed * 2 + number % 2;
    return reversed;
}

/** (rank - places) mod p, for any number of places. */
int far_before(const Rank &rank, int64_t places) {
    return around(rank, -static_cast<int>(places % rank.p));
}

} // namespace

void bruck(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    const Span moved = rank.scratch(rank.p * n);
    copy_some(rank, block(moved, 0, n), rank.input());
    for (int distance = 1; distance < rank.p; distance *= 2) {
        const int number = std::min(distance, rank.p - distance);
        rank.sendrecv(around(rank, -distance), blocks(moved, 0, number, n), around(rank, distance),
                      blocks(moved, distance, number, n));
    }
    rotate_back(rank, moved);
}

void bruck_radix(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span moved = rank.id == 0 ? rank.output() : rank.scratch(rank.p * n);
    copy_some(rank, block(moved, 0, n), rank.input());
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        for (const Hop &hop : hops_of_round(rank.p, weight, k)) {
            rank.irecv(around(rank, hop.places), blocks(moved, hop.places, hop.blocks, n));
            rank.isend(around(rank, -hop.places), blocks(moved, 0, hop.blocks, n));
        }
        rank.wait_all();
    }
    if (rank.id != 0)
        rotate_back(rank, moved);
}

void bruck_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span moved = rank.id == 0 ? rank.output() : rank.scratch(rank.p * n);
    copy_some(rank, block(moved, 0, n), rank.input());
    const Joint start = rank.here();
    Joint ready = start; // all receives of the rounds before are complete
    std::vector<Request> receives;
    std::vector<Request> sends;
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        receives.clear();
        for (const Hop &hop : hops_of_round(rank.p, weight, k)) {
            rank.at(start);
            receives.push_back(
                rank.irecv(around(rank, hop.places), blocks(moved, hop.places, hop.blocks, n)));
            rank.at(ready);
            sends.push_back(rank.isend(around(rank, -hop.places), blocks(moved, 0, hop.blocks, n)));
        }
        ready = rank.when(receives, std::span<const Joint>(&ready, 1));
    }
    rank.at(ready);
    rank.wait(sends);
    if (rank.id != 0)
        rotate_back(rank, moved);
}

void recursive_doubling(Rank &rank, const Parameters & /*none*/) {
    rank.copy(block(rank.output(), rank.id, rank.call.count), rank.input());
    recursive_doubling_of_blocks(rank, rank.output(), rank.call.count);
}

void mpich_recursive_doubling(Rank &rank, const Parameters &parameters) {
    require_power_of_two(rank, "MPICH's allgather by recursive doubling");
    recursive_doubling(rank, parameters);
}

void openmpi_recursive_doubling(Rank &rank, const Parameters &parameters) {
    if (is_power_of_two(rank.p))
        recursive_doubling(rank, parameters);
    else
        bruck(rank, parameters);
}

void recursive_halving(Rank &rank, const Parameters & /*none*/) {
    require_power_of_two(rank, "allgather by recursive halving");
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    int first = reversed_bits(rank.id, rank.p); // of the blocks that this rank has
    exchange(rank, first, rank.input(), first, block(output, first, n));
    int number = 1;
    for (int distance = rank.p / 2; distance > 0; distance /= 2, number *= 2) {
        const int partner = rank.id ^ distance;
        const int others = first ^ number;
        rank.sendrecv(partner, blocks(output, first, number, n), partner, blocks(output, others, number, n));
        first = std::min(first, others);
    }
}

void sparbit(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const auto p = static_cast<uint32_t>(rank.p);
    const int trailing = std::countr_zero(p);
    const uint32_t skipping = (~(p >> trailing) | 1U) << trailing; // distances at which one block is known
    rank.copy(block(output, rank.id, n), rank.input());
    int64_t have = 1;
    for (uint32_t distance = std::bit_ceil(p) / 2; distance > 0; distance /= 2) {
        const int64_t skipped = (distance & skipping) == distance ? 1 : 0;
        const int to = around(rank, static_cast<int>(distance));
        const int from = around(rank, -static_cast<int>(distance));
        for (int64_t i = 0; i < have - skipped; ++i) {
            rank.isend(to, block(output, far_before(rank, 2 * i * distance), n));
            rank.irecv(from, block(output, far_before(rank, (2 * i + 1) * distance), n));
        }
        rank.wait_all();
        have = 2 * have - skipped;
    }
}

} // namespace offbeat::algorithms::allgather
