#include "algorithms/blocks.hpp"
#include "algorithms/reduce.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

namespace {

/** The largest power of two of ranks takes part; of the first 2·extra ranks, the odd ones hand over to their
 * even neighbours and are out. */
struct Participants {
    int all = 1;
    int extra = 0;
    int root = 0;

    Participants(int p, int reduce_root) : root(reduce_root) {
        while (all * 2 <= p)
            all *= 2;
        extra = p - all;
    }
    [[nodiscard]] bool has_pair(int rank) const {
        return rank < 2 * extra;
    }
    [[nodiscard]] bool is_out(int rank) const {
        return has_pair(rank) && rank % 2 != 0;
    }
    /** Numbers of those who take part. */
    [[nodiscard]] int number(int rank) const {
        return has_pair(rank) ? rank / 2 : rank - extra;
    }
    [[nodiscard]] int rank(int number) const {
        return number < extra ? 2 * number : number + extra;
    }
    /** In the gather, a root that is out plays number 0. */
    [[nodiscard]] int gathering_number(int rank) const {
        return rank == root && is_out(rank) ? 0 : number(rank);
    }
    [[nodiscard]] int gathering_rank(int number) const {
        return number == 0 && is_out(root) ? root : rank(number);
    }
};

/** What a rank has at each step of the halving, in elements: in step k, ranks with bit k of their number keep
 * [middle, end), the others [begin, middle). */
struct Window {
    int64_t begin = 0;
    int64_t middle = 0;
    int64_t end = 0;

    [[nodiscard]] Span half(const Span &buffer, bool upper) const {
        return upper ? buffer.part(middle, end - middle) : buffer.part(begin, middle - begin);
    }
};

/** Halves of a number of elements, rounded down: Open MPI's and Rabenseifner's way. */
std::vector<Window> halves_of_elements(int64_t elements, int participants, int number) {
    std::vector<Window> windows;
    Window window{0, 0, elements};
    for (int bit = 1; bit < participants; bit *= 2) {
        window.middle = window.begin + (window.end - window.begin) / 2;
        windows.push_back(window);
        (number & bit ? window.begin : window.end) = window.middle;
    }
    return windows;
}

/** Halves of a number of blocks, one for each participant: MPICH's way. */
std::vector<Window> halves_of_blocks(const Blocks &blocks, int number) {
    std::vector<Window> windows;
    int64_t begin = 0;
    int64_t end = blocks.blocks();
    for (int bit = 1; bit < blocks.blocks(); bit *= 2) {
        const int64_t middle = (begin + end) / 2;
        windows.push_back({blocks.offset(begin), blocks.offset(middle), blocks.offset(end)});
        (number & bit ? begin : end) = middle;
    }
    return windows;
}

void combine(Rank &rank, const Span &into, const Span &from, Order order) {
    if (into.length > 0)
        rank.reduce(into, from, order);
}

/** The odd rank sends everything, and is out. */
void fold_whole(Rank &rank, const Participants &participants, Span result, Span received) {
    if (participants.is_out(rank.id)) {
        rank.send(rank.id - 1, result);
    } else if (participants.has_pair(rank.id)) {
        rank.recv(rank.id + 1, received);
        rank.reduce(result, received, Order::into_first);
    }
}

/** Each of the two combines one half; then the odd rank sends its half, and is out. */
void fold_halves(Rank &rank, const Participants &participants, Span result, Span received) {
    if (!participants.has_pair(rank.id))
        return;
    const Window window{0, result.length / 2, result.length};
    const bool odd = rank.id % 2 != 0;
    const int partner = odd ? rank.id - 1 : rank.id + 1;
    const Span mine = window.half(result, odd);
    rank.sendrecv(partner, window.half(result, !odd), partner, window.half(received, odd));
    combine(rank, mine, window.half(received, odd), odd ? Order::from_first : Order::into_first);
    if (odd)
        rank.send(partner, mine);
    else
        rank.recv(partner, window.half(result, true));
}

/** Recursive halving with doubling distance. */
void scatter(Rank &rank, const Participants &participants, const std::vector<Window> &windows, Span result,
             Span received) {
    const int number = participants.number(rank.id);
    int bit = 1;
    for (const Window &window : windows) {
        const bool upper = (number & bit) != 0;
        const int partner = participants.rank(number ^ bit);
        const Span mine = window.half(received, upper);
        rank.sendrecv(partner, window.half(result, !upper), partner, mine);
        combine(rank, window.half(result, upper), mine, upper ? Order::from_first : Order::into_first);
        bit *= 2;
    }
}

/** Number 0 hands its block to a root that is out. False for who has nothing to do with the gather. */
bool root_takes_over(Rank &rank, const Participants &participants, const Window &last, Span result) {
    if (!participants.is_out(participants.root))
        return !participants.is_out(rank.id);
    if (rank.id == participants.root)
        rank.recv(0, last.half(result, false));
    else if (rank.id == 0)
        rank.send(participants.root, last.half(result, false));
    return rank.id == participants.root || (rank.id != 0 && !participants.is_out(rank.id));
}

/** The way back: who differs from the root in a bit sends what it has. `all_go_on`: and goes on with the next
 * bit nevertheless, as if it were still needed. */
void gather(Rank &rank, const Participants &participants, const std::vector<Window> &windows, Span result,
            bool all_go_on) {
    if (!root_takes_over(rank, participants, windows.back(), result))
        return;
    const int number = participants.gathering_number(rank.id);
    const int root = participants.gathering_number(participants.root);
    int bit = participants.all;
    for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
        bit /= 2;
        const bool upper = (number & bit) != 0;
        const int partner = participants.gathering_rank(number ^ bit);
        if ((number & bit) == (root & bit)) {
            rank.recv(partner, window->half(result, !upper));
            continue;
        }
        rank.send(partner, window->half(result, upper));
        if (!all_go_on)
            return;
    }
}

using Fold = void (*)(Rank &, const Participants &, Span, Span);

void scatter_gather(Rank &rank, Span result, Fold fold,
                    const std::function<std::vector<Window>(int participants, int number)> &windows_of,
                    bool all_go_on = false) {
    const Participants participants(rank.p, rank.call.root);
    const Span received = rank.scratch(result.length);
    const auto windows = windows_of(participants.all, participants.gathering_number(rank.id));
    fold(rank, participants, result, received);
    if (!participants.is_out(rank.id))
        scatter(rank, participants, windows, result, received);
    gather(rank, participants, windows, result, all_go_on);
}

Span own_contribution_in_place(Rank &rank) {
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    return result;
}

bool too_few_or_ordered(const Rank &rank) {
    return rank.call.count < Participants(rank.p, 0).all || !rank.call.commutative;
}

/** Fills a buffer whose first `filled` elements are there with copies of them. */
void pad(Rank &rank, Span buffer, int64_t filled) {
    while (filled < buffer.length) {
        const int64_t more = std::min(filled, buffer.length - filled);
        rank.copy(buffer.part(filled, more), buffer.part(0, more));
        filled += more;
    }
}

} // namespace

void openmpi_rabenseifner(Rank &rank, const Parameters &none) {
    if (nothing_to_combine(rank))
        return;
    if (too_few_or_ordered(rank)) {
        linear(rank, none);
        return;
    }
    const Span result = own_contribution_in_place(rank);
    scatter_gather(rank, result, fold_halves, [&](int participants, int number) {
        return halves_of_elements(result.length, participants, number);
    });
}

void mpich_scatter_gather(Rank &rank, const Parameters &none) {
    if (nothing_to_combine(rank))
        return;
    if (too_few_or_ordered(rank)) {
        binomial(rank, none);
        return;
    }
    const Span result = own_contribution_in_place(rank);
    scatter_gather(rank, result, fold_whole, [&](int participants, int number) {
        return halves_of_blocks(Blocks::even(result.length, participants), number);
    });
}

void mpich_scheduled_scatter_gather(Rank &rank, const Parameters &none) {
    if (nothing_to_combine(rank))
        return;
    if (too_few_or_ordered(rank)) {
        binomial(rank, none);
        return;
    }
    const Span result = own_contribution_in_place(rank);
    scatter_gather(rank, result, fold_whole, [&](int participants, int number) {
        return halves_of_blocks(Blocks::remainder_last(result.length, participants), number);
    });
}

void simgrid_scatter_gather(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int64_t count = rank.call.count;
    const bool padded = count < rank.p;
    const Span result = padded ? rank.scratch(rank.p) : accumulator(rank);
    rank.copy(result.part(0, count), rank.input());
    pad(rank, result, count);
    scatter_gather(rank, result, fold_whole, [&](int participants, int number) {
        return halves_of_blocks(Blocks::remainder_last(result.length, participants), number);
    });
    if (padded && rank.id == rank.call.root)
        rank.copy(rank.output(), result.part(0, count));
}

void rabenseifner_own(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Span result = own_contribution_in_place(rank);
    const auto windows = [&](int participants, int number) {
        return halves_of_elements(result.length, participants, number);
    };
    scatter_gather(rank, result, fold_halves, windows, true);
}

} // namespace offbeat::algorithms::reduce
