/** @file
 * Reduce-scatters by recursive exchange with the nearest partners first: whose piece of the data is where.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "algorithms/recursive_exchange.hpp"

namespace offbeat::algorithms {

/** Blocks for those that take part, by their numbers with the digits reversed; the last one takes the
 * remainder. */
class ExchangePieces {
  public:
    /** @param exchange must outlive this object. */
    ExchangePieces(const RecursiveExchange &exchange, int64_t count)
        : exchange_(exchange), blocks_(Blocks::remainder_last(count, exchange.participants)) {
    }
    /** What a rank still works on when `digits` digits are left to exchange. */
    [[nodiscard]] schedule::Span of(const schedule::Span &all, int rank, int digits) const {
        const RankRange range = exchange_.numbers_near(exchange_.reversed(exchange_.number(rank)), digits);
        return blocks_.run(all, range.from, range.end);
    }

  private:
    const RecursiveExchange &exchange_;
    Blocks blocks_;
};

} // namespace offbeat::algorithms
