/** @file
 * A program of many iterations as data: the steps of an iteration, work on memory domains, and noise.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

inline constexpr uint32_t no_segment = UINT32_MAX;

/** Work of every rank: first `seconds` that need no memory, then `bytes` of traffic with its domain. */
struct Work {
    std::vector<double> seconds;      /**< per rank */
    std::vector<double> bytes;        /**< per rank */
    std::vector<uint32_t> flow_class; /**< per rank: which of the domains' flow classes the traffic is */
};

/** One step of an iteration: a segment of the graph (messages), work, or an ideal synchronisation. */
struct Step {
    uint32_t segment = no_segment;
    uint32_t work = 0;  /**< if there is no segment: place in Iterations::works */
    uint32_t every = 1; /**< executed in the iterations i, counted from 0, in which i + 1 is a multiple */
    bool logs_sends = false; /**< a segment whose sends are logged when they complete (see Course::Log) */
    /** No segment and no work: all ranks wait here for the last one, and continue at the same time. */
    bool synchronises = false;
};

/** Additional time of a rank at the beginning of a step of work. */
struct Noise {
    uint32_t iteration = 0;
    uint32_t step = 0;
    double seconds = 0;
};

/** All ranks execute the same steps. */
struct Iterations {
    uint32_t iterations = 0;
    std::vector<Step> steps;
    std::vector<Work> works;
    std::vector<uint32_t> first_noise; /**< per rank, and one more: its part of `noise` */
    std::vector<Noise> noise;          /**< of each rank by iteration, then by step */
};

} // namespace offbeat::schedule
