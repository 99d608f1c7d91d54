/** @file
 * Collectives built out of others: a part of the ranks carries out an algorithm of any collective among
 * themselves, on pieces of their buffers, as a step of a larger algorithm.
 */
#pragma once

#include "algorithms/catalogue.hpp"
#include "algorithms/group.hpp"
#include "schedule/program.hpp"

#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace offbeat::algorithms {

/** A collective call inside another one. */
struct Part {
    schedule::Collective collective{};
    int root = 0;      /**< its number in the group */
    int64_t count = 0; /**< as of schedule::Call */
    /** At least as long as the collective asks for; what it doesn't ask for may be anything. */
    schedule::Span input;
    schedule::Span output;
};

using Setting = std::pair<std::string_view, int64_t>;

/** Writes a part down. It starts at the rank's current joint; everything after it waits until the rank is
 * through with it, all its requests included. Every rank of the group must do so, in the same order among the
 * parts and messages that they share; tags are as the part's algorithm sets them. */
void run(schedule::Rank &rank, const Group &group, const Part &part,
         const std::function<void(schedule::Rank &)> &write);
/** An algorithm of the catalogue, with its default parameters but for the settings. std::logic_error if there
 * is none of this name. */
void run(schedule::Rank &rank, const Group &group, const Part &part, std::string_view family,
         std::string_view name, std::initializer_list<Setting> settings = {});

} // namespace offbeat::algorithms
