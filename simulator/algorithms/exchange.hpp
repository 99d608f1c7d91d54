/** @file
 * What nearly every data-moving algorithm needs: blocks of equal length, and exchanges that know oneself.
 */
#pragma once

#include "schedule/program.hpp"

namespace offbeat::algorithms {

/** Tags that keep the barriers inside a collective apart from its data. */
inline constexpr int data_tag = 0;
inline constexpr int barrier_tag = 1;

/** Message without data. */
inline constexpr schedule::Span no_data{};

/** Block `i` of a buffer of blocks of `length` elements. */
inline schedule::Span block(const schedule::Span &buffer, int64_t i, int64_t length) {
    return buffer.part(i * length, length);
}

/** `blocks` neighbouring blocks from block `i` on. */
inline schedule::Span blocks(const schedule::Span &buffer, int64_t i, int64_t blocks, int64_t length) {
    return buffer.part(i * length, blocks * length);
}

/** Copies unless there is nothing to copy. */
inline void copy_some(schedule::Rank &rank, schedule::Span into, schedule::Span from) {
    if (into.length > 0)
        rank.copy(into, from);
}

/** A sendrecv that is a local copy where both peers are the rank itself, as in Open MPI's collectives and
 * in SMPI. */
inline void exchange(schedule::Rank &rank, int to, schedule::Span what, int from, schedule::Span into,
                     int tag = data_tag) {
    if (to == rank.id && from == rank.id)
        rank.copy(into, what);
    else
        rank.sendrecv(to, what, from, into, tag);
}

/** A rank some places after (or, negative, before) this one, around the circle; |places| <= p. */
inline int around(const schedule::Rank &rank, int places) {
    const int other = rank.id + places;
    return other < 0 ? other + rank.p : other >= rank.p ? other - rank.p : other;
}

inline bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

} // namespace offbeat::algorithms
