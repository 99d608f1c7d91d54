#include "schedule/collective.hpp"

#include <algorithm>

namespace offbeat::schedule {

int64_t input_length(const Call &call, int rank) {
    switch (call.collective) {
    case Collective::alltoall:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
        return call.count * call.p;
    case Collective::scatter:
        return rank == call.root ? call.count * call.p : 0;
    case Collective::bcast:
    case Collective::barrier:
        return 0;
    default:
        return call.count;
    }
}

int64_t output_length(const Call &call, int rank) {
    switch (call.collective) {
    case Collective::alltoall:
    case Collective::allgather:
        return call.count * call.p;
    case Collective::gather:
        return rank == call.root ? call.count * call.p : 0;
    case Collective::reduce:
        return rank == call.root ? call.count : 0;
    case Collective::barrier:
        return 0;
    default:
        return call.count;
    }
}

std::string_view name_of(Collective collective) {
    return collective_names[static_cast<size_t>(collective)];
}

std::optional<Collective> collective_of(std::string_view name) {
    const auto *found = std::find(collective_names.begin(), collective_names.end(), name);
    if (found == collective_names.end())
        return std::nullopt;
    return static_cast<Collective>(found - collective_names.begin());
}

} // namespace offbeat::schedule
