#include "evaluate/cables.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace offbeat::evaluate {

namespace {

/** The groups that use each link. */
class Users {
  public:
    explicit Users(const Traffic &traffic)
        : first_(traffic.capacities.size() + 1), groups_(traffic.hops.size()) {
        for (const platform::Hop &hop : traffic.hops)
            ++first_[hop.link + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
        for (uint32_t group = 0; group < traffic.groups.size(); ++group) {
            const Group &route = traffic.groups[group];
            for (uint32_t hop = route.first_hop; hop < route.first_hop + route.hops; ++hop)
                groups_[next[traffic.hops[hop].link]++] = group;
        }
    }
    /** In rising order. */
    [[nodiscard]] std::span<const uint32_t> of(uint32_t link) const {
        return {groups_.data() + first_[link], groups_.data() + first_[link + 1]};
    }

  private:
    std::vector<uint32_t> first_; /**< per link, and one more */
    std::vector<uint32_t> groups_;
};

} // namespace

std::vector<Side> pair_links(const Traffic &traffic) {
    const Users users(traffic);
    std::vector<uint32_t> links(traffic.capacities.size());
    std::iota(links.begin(), links.end(), 0);
    std::ranges::stable_sort(links, [&](uint32_t a, uint32_t b) {
        return std::ranges::lexicographical_compare(users.of(a), users.of(b));
    });
    std::vector<Side> sides(links.size());
    uint32_t cables = 0;
    for (size_t i = 0; i < links.size(); ++i) {
        sides[links[i]] = {cables, 0};
        if (i + 1 < links.size() && std::ranges::equal(users.of(links[i]), users.of(links[i + 1])))
            sides[links[++i]] = {cables, 1};
        ++cables;
    }
    return sides;
}

} // namespace offbeat::evaluate
