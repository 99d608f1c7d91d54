#include "algorithms/recursive_exchange.hpp"

#include <algorithm>

namespace offbeat::algorithms {

RecursiveExchange::RecursiveExchange(int p, int rank, int64_t radix)
    : k(static_cast<int>(std::min<int64_t>(radix, std::max(p, 2)))) {
    while (participants * k <= p) {
        participants *= k;
        ++phases;
    }
    nonparticipants_ = p - participants;
    fringe_ = nonparticipants_ * k / (k - 1);
    find_nonparticipants(rank);
    if (!participates())
        return;
    const int own_number = number(rank);
    for (int phase = 0, weight = 1; phase < phases; ++phase, weight *= k) {
        const int zeroed = own_number - own_number / weight % k * weight;
        auto &others = partners.emplace_back();
        for (int digit = 0; digit < k; ++digit)
            if (zeroed + digit * weight != own_number)
                others.push_back(this->rank(zeroed + digit * weight));
    }
}

/** Below the fringe, the last of each k ranks participates. If the fringe divides a set of k ranks, the first
 * rank above the fringe represents it. */
void RecursiveExchange::find_nonparticipants(int rank) {
    const int last = rank - rank % k + k - 1;
    if (rank < fringe_ && rank != last)
        sends_to = last < fringe_ ? last : fringe_;
    else if (rank < fringe_)
        for (int other = rank - 1; other > rank - k; --other)
            receives_from.push_back(other);
    else if (rank == fringe_)
        for (int other = rank - 1; other >= rank - rank % k; --other)
            receives_from.push_back(other);
}

int RecursiveExchange::number(int rank) const {
    return rank < fringe_ ? rank / k : rank - nonparticipants_;
}

int RecursiveExchange::rank(int number) const {
    return number < nonparticipants_ / (k - 1) ? number * k + k - 1 : number + nonparticipants_;
}

int RecursiveExchange::reversed(int number) const {
    int result = 0;
    for (int phase = 0; phase < phases; ++phase, number /= k)
        result = result * k + number % k;
    return result;
}

RankRange RecursiveExchange::numbers_near(int number, int digits) const {
    int size = 1;
    for (int i = 0; i < digits; ++i)
        size *= k;
    const int from = number - number % size;
    return {from, from + size};
}

RankRange RecursiveExchange::ranks_near(int number, int digits) const {
    const RankRange numbers = numbers_near(number, digits);
    return {numbers.from == 0 ? 0 : rank(numbers.from - 1) + 1, rank(numbers.end - 1) + 1};
}

} // namespace offbeat::algorithms
