/** @file
 * An exchange of messages between neighbours, as programs do it once in every iteration.
 */
#pragma once

#include "schedule/graph.hpp"

#include <cstdint>
#include <span>

namespace offbeat::schedule {

/** A message of an exchange. A rank posts its sends and its receives in the order of the list. */
struct HaloMessage {
    int source = 0;
    int target = 0;
    int64_t bytes = 0;
};

/** The sends of an exchange. Each rank first calls MPI_Irecv for all its receives, and MPI_Waitall at the
 * end.
 */
enum class HaloSends : uint8_t {
    nonblocking, /**< MPI_Isend for all */
    blocking,    /**< MPI_Send, one after the other */
    synchronous, /**< MPI_Issend for all: the rendezvous protocol at any size */
    buffered,    /**< MPI_Ibsend for all: no sender waits */
};

/** The graph of an exchange among p ranks; elements are bytes. @param local_work  as for GraphBuilder
 * std::invalid_argument for ranks that do not exist and negative sizes. */
[[nodiscard]] Graph halo_exchange(int p, std::span<const HaloMessage> messages, HaloSends sends,
                                  bool local_work);

} // namespace offbeat::schedule
