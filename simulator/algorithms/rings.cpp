#include "algorithms/rings.hpp"

#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"

namespace offbeat::algorithms {

using namespace schedule;

void reduce_around(Rank &rank, const std::function<Span(int)> &piece, const std::array<Span, 2> &incoming) {
    const int right = around(rank, 1);
    const int left = around(rank, -1);
    const auto arriving = [&](int step) { // piece r - step, into one of the buffers in turn
        return incoming[static_cast<size_t>(step % 2)].part(0, piece(around(rank, -step)).length);
    };
    Request open = rank.irecv(left, arriving(1));
    rank.send(right, piece(rank.id));
    for (int step = 1; step < rank.p; ++step) {
        Request next = none;
        if (step + 1 < rank.p)
            next = rank.irecv(left, arriving(step + 1));
        rank.wait(open);
        const Span mine = piece(around(rank, -step));
        reduce_some(rank, mine, arriving(step));
        if (step + 1 < rank.p)
            rank.send(right, mine);
        open = next;
    }
}

} // namespace offbeat::algorithms
