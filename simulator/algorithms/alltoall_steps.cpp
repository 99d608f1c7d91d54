#include "algorithms/alltoall.hpp"
#include "algorithms/barrier.hpp"
#include "algorithms/exchange.hpp"

#include <stdexcept>
#include <string>

namespace offbeat::algorithms::alltoall {

using schedule::Rank;
using schedule::Span;

namespace {

enum class Partners { pair, ring };
enum class Barriers { none, one, every_step };

template <Partners partners> int to(const Rank &rank, int step) {
    return partners == Partners::pair ? rank.id ^ step : around(rank, step);
}

template <Partners partners> int from(const Rank &rank, int step) {
    return partners == Partners::pair ? rank.id ^ step : around(rank, -step);
}

template <Partners partners> void refuse_what_does_not_pair(const Rank &rank) {
    if (partners == Partners::pair && !is_power_of_two(rank.p))
        throw std::invalid_argument("alltoall by pairs needs a power of two of ranks; " +
                                    std::to_string(rank.p) + " is not one");
}

template <Partners partners> void one_step(Rank &rank, Span input, Span output, int step) {
    const int64_t n = rank.call.count;
    const int receiver = to<partners>(rank, step);
    const int sender = from<partners>(rank, step);
    exchange(rank, receiver, block(input, receiver, n), sender, block(output, sender, n));
}

template <Partners partners, Barriers barriers> void stepwise(Rank &rank) {
    refuse_what_does_not_pair<partners>(rank);
    const Span input = rank.input();
    const Span output = rank.output();
    if (barriers == Barriers::one)
        barrier::linear(rank, barrier_tag);
    for (int step = 0; step < rank.p; ++step) {
        if (barriers == Barriers::every_step)
            barrier::linear(rank, barrier_tag);
        one_step<partners>(rank, input, output, step);
    }
}

/** After each step, a byte to the rank of which the next step receives, and one from that to which it
 * sends: as many elements as come nearest to a byte. */
template <Partners partners> void stepwise_with_light_barriers(Rank &rank) {
    refuse_what_does_not_pair<partners>(rank);
    const Span input = rank.input();
    const Span output = rank.output();
    const int64_t byte = rank.call.element_bytes <= 2 && rank.call.count > 0 ? 1 : 0;
    const Span ready = input.part(0, byte); // what it says doesn't matter
    const Span peer_is_ready = rank.scratch(byte);
    one_step<partners>(rank, input, output, 0);
    for (int step = 1; step < rank.p; ++step) {
        one_step<partners>(rank, input, output, step);
        if (step + 1 < rank.p)
            rank.sendrecv(from<partners>(rank, step + 1), ready, to<partners>(rank, step + 1), peer_is_ready);
    }
}

} // namespace

void pair(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::pair, Barriers::none>(rank);
}

void pair_one_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::pair, Barriers::one>(rank);
}

void pair_every_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::pair, Barriers::every_step>(rank);
}

void pair_light_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise_with_light_barriers<Partners::pair>(rank);
}

void pair_or_ring(Rank &rank, const Parameters & /*none*/) {
    if (is_power_of_two(rank.p))
        stepwise<Partners::pair, Barriers::none>(rank);
    else
        stepwise<Partners::ring, Barriers::none>(rank);
}

void pairwise_openmpi(Rank &rank, const Parameters & /*none*/) {
    const Span input = rank.input();
    const Span output = rank.output();
    for (int step = 1; step <= rank.p; ++step)
        one_step<Partners::ring>(rank, input, output, step);
}

void ring(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::ring, Barriers::none>(rank);
}

void ring_one_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::ring, Barriers::one>(rank);
}

void ring_every_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise<Partners::ring, Barriers::every_step>(rank);
}

void ring_light_barrier(Rank &rank, const Parameters & /*none*/) {
    stepwise_with_light_barriers<Partners::ring>(rank);
}

} // namespace offbeat::algorithms::alltoall
