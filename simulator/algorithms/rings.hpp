/** @file
 * Pieces of the data around the ring of ranks.
 */
#pragma once

#include "schedule/program.hpp"

#include <array>
#include <functional>

namespace offbeat::algorithms {

/** Open MPI's reduction: rank r sends piece r on, then every piece that comes, with its own value of it
 * added; at the end it has the result of piece r + 1. The next piece's receive is posted before the last
 * one's is waited for.
 * @param piece where piece 0 ... p - 1 is.
 * @param incoming as long as the longest piece. */
void reduce_around(schedule::Rank &rank, const std::function<schedule::Span(int)> &piece,
                   const std::array<schedule::Span, 2> &incoming);

} // namespace offbeat::algorithms
