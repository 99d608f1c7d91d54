/** @file The arguments that Python gives for a call. */
#pragma once

#include "algorithms/catalogue.hpp"
#include "schedule/collective.hpp"
#include "schedule/node_map.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace offbeat::python {

/** A Call that owns the nodes of its ranks. Not to be copied or moved: call points into it. */
class OwnedCall {
  public:
    /** Raises std::invalid_argument with a sentence for an unknown collective or numbers that make no call.
     */
    OwnedCall(const std::string &collective, int p, int root, int64_t count, int64_t element_bytes,
              std::vector<int> node_of_rank, bool commutative);
    OwnedCall(const OwnedCall &) = delete;
    OwnedCall &operator=(const OwnedCall &) = delete;
    ~OwnedCall() = default;

    std::vector<int> nodes;
    schedule::Call call;

  private:
    std::optional<schedule::NodeMap> node_map_;
};

/** Raises std::invalid_argument with a sentence. */
schedule::Collective collective_named(const std::string &name);
const algorithms::Algorithm &algorithm_named(const std::string &collective, const std::string &family,
                                             const std::string &name);
algorithms::Parameters parameters_of(const algorithms::Algorithm &algorithm,
                                     const std::map<std::string, int64_t> &values);

} // namespace offbeat::python
