#include "algorithms/alltoall.hpp"
#include "algorithms/exchange.hpp"

#include <algorithm>

namespace offbeat::algorithms::alltoall {

using schedule::Joint;
using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

/** Of p blocks, those whose number has `digit` at the place of value `weight` in base `k`; neighbours as one
 * piece. */
void blocks_with_digit(std::vector<Span> &pieces, const Span &buffer, int digit, int64_t weight, int64_t k,
                       int p, int64_t length) {
    pieces.clear();
    for (int64_t first = digit * weight; first < p; first += k * weight)
        pieces.push_back(blocks(buffer, first, std::min(weight, p - first), length));
}

/** Copies pieces to the front of a buffer; returns the part that they fill. */
Span pack(Rank &rank, const Span &buffer, const std::vector<Span> &pieces) {
    int64_t filled = 0;
    for (const Span &piece : pieces) {
        copy_some(rank, buffer.part(filled, piece.length), piece);
        filled += piece.length;
    }
    return buffer.part(0, filled);
}

void unpack(Rank &rank, const std::vector<Span> &pieces, const Span &buffer) {
    int64_t taken = 0;
    for (const Span &piece : pieces) {
        copy_some(rank, piece, buffer.part(taken, piece.length));
        taken += piece.length;
    }
}

/** Block i of `into` becomes the block for the rank i places on. */
void rotate_input(Rank &rank, const Span &into) {
    const int64_t n = rank.call.count;
    const int behind = rank.p - rank.id;
    copy_some(rank, blocks(into, 0, behind, n), blocks(rank.input(), rank.id, behind, n));
    copy_some(rank, blocks(into, behind, rank.id, n), blocks(rank.input(), 0, rank.id, n));
}

/** From the output, where block i came from the rank i places before, by way of `turned` to the output in
 * order. */
void turn_output(Rank &rank, const Span &turned) {
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const int behind = rank.p - rank.id - 1;
    copy_some(rank, blocks(turned, 0, behind, n), blocks(output, rank.id + 1, behind, n));
    copy_some(rank, blocks(turned, behind, rank.id + 1, n), blocks(output, 0, rank.id + 1, n));
    for (int i = 0; i < rank.p; ++i)
        copy_some(rank, block(output, rank.p - i - 1, n), block(turned, i, n));
}

/** How many exchanges a phase has: digits d with d times weight below p. */
int digits_in_use(int64_t weight, int64_t k, int p) {
    return static_cast<int>(std::min<int64_t>(k - 1, (p - 1) / weight));
}

/** k - 1 buffers, each long enough for the blocks of one digit. */
std::vector<Span> buffers_for_digits(Rank &rank, int64_t k) {
    int64_t blocks_of_a_digit = 1;
    while (blocks_of_a_digit * k < rank.p)
        blocks_of_a_digit *= k;
    std::vector<Span> buffers;
    for (int digit = 1; digit <= digits_in_use(1, k, rank.p); ++digit)
        buffers.push_back(rank.scratch(blocks_of_a_digit * rank.call.count));
    return buffers;
}

int ahead(const Rank &rank, int64_t places) {
    return around(rank, static_cast<int>(places));
}

} // namespace

void bruck_simgrid(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    const Span packed = rank.scratch(rank.p * n);
    rotate_input(rank, rank.output());
    std::vector<Span> pieces;
    for (int distance = 1; distance < rank.p; distance *= 2) {
        blocks_with_digit(pieces, rank.output(), 1, distance, 2, rank.p, n);
        const Span what = pack(rank, packed, pieces);
        const Request received = rank.irecv(around(rank, -distance), pieces);
        rank.wait({received, rank.isend(around(rank, distance), what)});
    }
    turn_output(rank, packed);
}

void bruck_openmpi(Rank &rank, const Parameters & /*none*/) {
    const int64_t n = rank.call.count;
    const Span moving = rank.scratch(rank.p * n);
    rotate_input(rank, moving);
    std::vector<Span> what;
    std::vector<Span> into;
    for (int distance = 1; distance < rank.p; distance *= 2) {
        blocks_with_digit(what, moving, 1, distance, 2, rank.p, n);
        blocks_with_digit(into, rank.output(), 1, distance, 2, rank.p, n);
        const Request received = rank.irecv(around(rank, -distance), into);
        rank.wait({received, rank.isend(around(rank, distance), what)});
        for (size_t i = 0; i < into.size(); ++i)
            copy_some(rank, what[i], into[i]);
    }
    for (int i = 0; i < rank.p; ++i)
        copy_some(rank, block(rank.output(), around(rank, -i), n), block(moving, i, n));
}

void bruck_radix(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span turned = rank.scratch(rank.p * n);
    const std::vector<Span> packed = buffers_for_digits(rank, k);
    const std::vector<Span> received = buffers_for_digits(rank, k);
    std::vector<Span> pieces;
    rotate_input(rank, rank.output());
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        const int digits = digits_in_use(weight, k, rank.p);
        for (int digit = 1; digit <= digits; ++digit) {
            const auto buffer = static_cast<size_t>(digit - 1);
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            const Span what = pack(rank, packed[buffer], pieces);
            rank.irecv(ahead(rank, -digit * weight), received[buffer].part(0, what.length));
            rank.isend(ahead(rank, digit * weight), what);
        }
        rank.wait_all();
        for (int digit = 1; digit <= digits; ++digit) {
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            unpack(rank, pieces, received[static_cast<size_t>(digit - 1)]);
        }
    }
    turn_output(rank, turned);
}

void bruck_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const bool own_buffers = parameters["buffer_per_nbr"] != 0;
    const Span turned = rank.scratch(rank.p * n);
    rotate_input(rank, rank.output());
    const Joint start = rank.here();
    std::vector<Span> packed;
    std::vector<Span> received;
    std::vector<Request> sends;
    std::vector<Joint> unpacked; // of the last phase, by digit
    std::vector<Joint> unpacked_now;
    std::vector<Span> pieces;
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        if (weight == 1 || own_buffers) {
            packed = buffers_for_digits(rank, k);
            received = buffers_for_digits(rank, k);
        }
        unpacked_now.clear();
        for (int digit = 1; digit <= digits_in_use(weight, k, rank.p); ++digit) {
            const auto at = static_cast<size_t>(digit - 1);
            if (weight > 1)
                rank.at(own_buffers ? rank.when(std::span<const Request>(), unpacked)
                                    : rank.when(std::span<const Request>(&sends[at], 1), unpacked));
            const Joint packing = rank.here();
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            const Span what = pack(rank, packed[at], pieces);
            sends.resize(std::max(sends.size(), at + 1));
            sends[at] = rank.isend(ahead(rank, digit * weight), what);
            rank.at(weight > 1 && !own_buffers ? unpacked[at] : start);
            const Request request =
                rank.irecv(ahead(rank, -digit * weight), received[at].part(0, what.length));
            rank.at(rank.when({request}, {packing}));
            unpack(rank, pieces, received[at]);
            unpacked_now.push_back(rank.here());
            rank.at(start);
        }
        unpacked = unpacked_now;
    }
    if (!unpacked.empty())
        rank.at(rank.when(std::span<const Request>(), unpacked));
    turn_output(rank, turned);
}

} // namespace offbeat::algorithms::alltoall
