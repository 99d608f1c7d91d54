/** @file The barrier that algorithms of other collectives call. */
#pragma once

#include "schedule/program.hpp"

namespace offbeat::algorithms::barrier {

/** SMPI's default: all ranks send to rank 0, which then sends to all ranks at once and waits for those sends.
 */
void linear(schedule::Rank &rank, int tag);

} // namespace offbeat::algorithms::barrier
