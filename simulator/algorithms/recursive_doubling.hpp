/** @file
 * Recursive doubling of blocks, also where p is no power of two: for allgathers and what is made of them.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

/** Every rank starts with block `id` of `all` (p blocks of `length` elements), and ends with all blocks.
 * In round k ranks whose numbers differ in bit k exchange the halves they have. Ranks without a partner are
 * served afterwards, by a binomial tree among the ranks of their half. */
void recursive_doubling_of_blocks(schedule::Rank &rank, const schedule::Span &all, int64_t length);

} // namespace offbeat::algorithms
