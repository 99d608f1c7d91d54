#include "evaluate/longest_path.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OFFBEAT_WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define OFFBEAT_WIDEST_VECTORS
#endif

namespace offbeat::evaluate {

using platform::MessageCosts;
using schedule::Graph;
using schedule::nobody;

namespace {

constexpr size_t lanes = LongestPath::lanes;
constexpr uint32_t no_place = UINT32_MAX;
constexpr uint32_t enough = UINT32_MAX;

/** Share of a transfer by which two may overlap and still follow each other. */
constexpr double rounding = 1e-9;

/** The same quantity of all patterns that are read together. */
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double)), may_alias));

bool is_send(uint32_t post) {
    return (post & 1U) == 0;
}

} // namespace

bool LongestPath::possible(const Graph &graph, const MessageCosts &message_costs) {
    const bool charges = message_costs.send_overhead_s > 0 || !graph.work.empty();
    return graph.queues() == 0 && (graph.chains || !charges);
}

/** Walks the graph once, in an order in which everything is known before it is used. */
class LongestPath::Layout {
  public:
    Layout(const Graph &graph, const Traffic &traffic, const MessageCosts &message_costs,
           std::span<const SizeCosts> costs, double bytes_per_element, LongestPath &path)
        : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
          bytes_per_element_(bytes_per_element), path_(path), pending_(graph.needs),
          place_(graph.joints(), no_place), readers_(graph.joints()), sides_(graph.messages.size()) {
    }

    /** Returns the groups of the records. */
    std::vector<uint32_t> write() {
        path_.tape_.reserve(graph_.messages.size());
        path_.transfer_s_.push_back(0);
        for (const uint32_t joint : graph_.entry) {
            path_.entry_place_.push_back(place(joint));
            ready_.push_back(joint);
        }
        size_t done = 0;
        while (done < ready_.size())
            fire(ready_[done++]);
        if (done != graph_.joints())
            throw std::logic_error("ranks wait for each other for ever");
        for (const uint32_t joint : graph_.exit)
            path_.exit_place_.push_back(place_[joint]);
        path_.at_.resize(places_ + 1);
        path_.ends_.resize(path_.transfer_s_.size());
        return std::move(groups_);
    }

  private:
    /** Both posts of a message, as they become known. */
    struct Sides {
        uint32_t sender = nobody;
        uint32_t receiver = nobody;
        double sender_s = 0; /**< how long after its joint the rank gets to the post */
        double receiver_s = 0;
    };

    uint32_t place(uint32_t joint) {
        if (place_[joint] == no_place) {
            place_[joint] = free_.empty() ? ++places_ : free_.back();
            if (!free_.empty())
                free_.pop_back();
        }
        return place_[joint];
    }

    /** The place of a joint that is written to, and the one that its value so far is read from. */
    void tell(uint32_t joint, uint32_t &where, uint32_t &before) {
        before = place_[joint] == no_place ? 0 : place_[joint];
        where = place(joint);
    }

    void read(uint32_t joint) {
        if (--readers_[joint] == 0)
            free_.push_back(place_[joint]);
    }

    void signal(uint32_t joint) {
        if (joint != nobody && --pending_[joint] == 0)
            ready_.push_back(joint);
    }

    void fire(uint32_t joint) {
        const uint32_t first = graph_.first_post[joint];
        const uint32_t last = graph_.first_post[joint + 1];
        const bool exits = graph_.exit[graph_.rank[joint]] == joint;
        readers_[joint] = last - first + 1 + (exits ? 1 : 0);
        add_work(joint);
        const uint32_t implied = followed_by_receive(first, last);
        double busy_s = 0;
        for (uint32_t i = first; i < last; ++i) {
            if (is_send(graph_.posts[i]))
                busy_s += message_costs_.send_overhead_s;
            post(joint, graph_.posts[i], busy_s, implied);
        }
        if (busy_s > 0 && !exits) // possible() sees to it that the next joint of the rank is the next number
            add_edge(joint, joint + 1, busy_s);
        for (uint32_t i = graph_.first_next[joint]; i < graph_.first_next[joint + 1]; ++i) {
            add_edge(joint, graph_.next[i], 0);
            signal(graph_.next[i]);
        }
        read(joint);
    }

    /** A joint that waits for one of these receives, and so comes after their joint anyway. */
    [[nodiscard]] uint32_t followed_by_receive(uint32_t first, uint32_t last) const {
        for (uint32_t i = first; i < last; ++i)
            if (!is_send(graph_.posts[i]))
                return traffic_.legs[graph_.posts[i] / 2].receiver_next;
        return nobody;
    }

    void add_work(uint32_t joint) {
        if (graph_.work.empty())
            return;
        const schedule::LocalWork &work = graph_.work[joint];
        const double seconds =
            static_cast<double>(work.received) * message_costs_.receive_overhead_s +
            bytes_per_element_ * (static_cast<double>(work.reduced) * message_costs_.reduce_s_per_byte +
                                  static_cast<double>(work.copied) * message_costs_.copy_s_per_byte);
        if (seconds > 0)
            add_edge(joint, joint, seconds);
    }

    void add_edge(uint32_t from, uint32_t to, double seconds) {
        Step step;
        step.sender = step.receiver = place(from);
        step.sender_s = step.receiver_s = seconds;
        tell(to, step.told, step.told_before);
        step.released = step.released_before = step.told;
        path_.tape_.push_back(step);
    }

    void post(uint32_t joint, uint32_t post, double busy_s, uint32_t implied) {
        const uint32_t message = post / 2;
        const Leg &posted = traffic_.legs[message];
        Sides &sides = sides_[message];
        (is_send(post) ? sides.sender : sides.receiver) = joint;
        (is_send(post) ? sides.sender_s : sides.receiver_s) = busy_s;
        if (is_send(post) && costs_[posted.size].detached && posted.sender_next != nobody) {
            // Told at once, in a step of its own: the message may come much later.
            if (posted.sender_next != implied)
                add_edge(joint, posted.sender_next, busy_s);
            signal(posted.sender_next);
        }
        if (sides.sender != nobody && sides.receiver != nobody)
            add_message(message);
    }

    void add_message(uint32_t message) {
        const Leg &sent = traffic_.legs[message];
        const SizeCosts &cost = costs_[sent.size];
        const Sides &sides = sides_[message];
        Step step;
        const double duration_s = duration(sent, cost, step.record);
        step.sender = place_[sides.sender];
        step.receiver = cost.eager ? step.sender : place_[sides.receiver];
        step.sender_s = sides.sender_s + duration_s;
        step.receiver_s = cost.eager ? step.sender_s : sides.receiver_s + duration_s;
        const uint32_t released = cost.detached ? nobody : sent.sender_next;
        tell_or_drop(sent.receiver_next, step.told, step.told_before);
        tell_or_drop(released, step.released, step.released_before);
        path_.tape_.push_back(step);
        if (cost.eager && sent.receiver_next != nobody)
            add_edge(sides.receiver, sent.receiver_next, sides.receiver_s);
        signal(sent.receiver_next);
        signal(released);
        read(sides.sender);
        read(sides.receiver);
    }

    double duration(const Leg &leg, const SizeCosts &cost, uint32_t &record) {
        if (leg.group == inside_node)
            return cost.inside_latency_s + cost.inside_transfer_s;
        const Group &route = traffic_.groups[leg.group];
        const double transfer_s = cost.work / route.alone;
        record = static_cast<uint32_t>(path_.transfer_s_.size());
        path_.transfer_s_.push_back(transfer_s);
        groups_.push_back(leg.group);
        return traffic_.latencies_s[route.latency] * cost.latency_factor + transfer_s;
    }

    /** Nobody is told at a place that nobody reads. */
    void tell_or_drop(uint32_t joint, uint32_t &where, uint32_t &before) {
        if (joint != nobody) {
            tell(joint, where, before);
            return;
        }
        if (unread_ == 0)
            unread_ = ++places_;
        where = before = unread_;
    }

    const Graph &graph_;
    const Traffic &traffic_;
    const MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    LongestPath &path_;
    std::vector<uint32_t> pending_;
    std::vector<uint32_t> place_;
    std::vector<uint32_t> readers_; /**< per joint: steps that will still read its place */
    std::vector<Sides> sides_;
    std::vector<uint32_t> ready_;
    std::vector<uint32_t> free_;
    std::vector<uint32_t> groups_;
    uint32_t places_ = 0;
    uint32_t unread_ = 0;
};

LongestPath::LongestPath(const Graph &graph, const Traffic &traffic, const MessageCosts &message_costs,
                         std::span<const SizeCosts> costs, double bytes_per_element)
    : traffic_(traffic), p_(static_cast<size_t>(graph.p)) {
    Layout layout(graph, traffic, message_costs, costs, bytes_per_element, *this);
    const std::vector<uint32_t> groups = layout.write();
    list_links(groups);
    make_room(groups);
}

/** Which records pass over which link. */
void LongestPath::list_links(std::span<const uint32_t> groups) {
    first_passing_.assign(traffic_.capacities.size() + 1, 0);
    const auto hops = [&](uint32_t group) {
        const Group &route = traffic_.groups[group];
        return std::span(traffic_.hops).subspan(route.first_hop, route.hops);
    };
    for (const uint32_t group : groups)
        for (const platform::Hop &hop : hops(group))
            ++first_passing_[hop.link + 1];
    std::partial_sum(first_passing_.begin(), first_passing_.end(), first_passing_.begin());
    passing_.resize(first_passing_.back());
    std::vector<uint32_t> next(first_passing_.begin(), first_passing_.end() - 1);
    for (uint32_t record = 1; record <= groups.size(); ++record)
        for (const platform::Hop &hop : hops(groups[record - 1]))
            passing_[next[hop.link]++] = record * 2 + (hop.weight >= 1 ? 1 : 0);
}

/** Transfers that share no link forward come from different links, and lead to different ones: where these
 * are few, the ways back of all of them fit in a link together. */
void LongestPath::make_room(std::span<const uint32_t> groups) {
    room_.assign(traffic_.capacities.size(), enough);
    std::vector<size_t> from(room_.size(), room_.size()); // per link: the last one that was counted for
    std::vector<size_t> to = from;
    for (size_t link = 0; link < room_.size(); ++link) {
        uint32_t sources = 0;
        uint32_t targets = 0;
        double asked = 0; // by the greediest way back
        for (uint32_t i = first_passing_[link]; i < first_passing_[link + 1]; ++i) {
            if ((passing_[i] & 1U) != 0)
                continue;
            const Group &route = traffic_.groups[groups[passing_[i] / 2 - 1]];
            const auto hops = std::span(traffic_.hops).subspan(route.first_hop, route.hops);
            size_t last = 0;
            for (size_t hop = 0; hop < hops.size(); ++hop) {
                if (hops[hop].weight >= 1)
                    last = hop;
                else if (hops[hop].link == link)
                    asked = std::max(asked, hops[hop].weight * route.alone);
            }
            sources += std::exchange(from[hops[0].link], link) != link ? 1 : 0;
            targets += std::exchange(to[hops[last].link], link) != link ? 1 : 0;
        }
        if (std::min(sources, targets) * asked > traffic_.capacities[link] * (1 + rounding))
            room_[link] = static_cast<uint32_t>(traffic_.capacities[link] * (1 + rounding) / asked);
    }
}

void LongestPath::run(std::span<const double> arrivals_s, std::span<double> exits_s) {
    const size_t patterns = arrivals_s.size() / p_;
    at_[0] = {};
    for (size_t rank = 0; rank < p_; ++rank)
        for (size_t lane = 0; lane < lanes; ++lane)
            at_[entry_place_[rank]].of[lane] = arrivals_s[std::min(lane, patterns - 1) * p_ + rank];
    read_tape();
    for (size_t rank = 0; rank < p_; ++rank)
        for (size_t lane = 0; lane < patterns; ++lane)
            exits_s[lane * p_ + rank] = at_[exit_place_[rank]].of[lane];
}

OFFBEAT_WIDEST_VECTORS
void LongestPath::read_tape() {
    Lanes *const at = reinterpret_cast<Lanes *>(at_.data());
    Lanes *const ends = reinterpret_cast<Lanes *>(ends_.data());
    for (const Step &step : tape_) {
        const Lanes sent = at[step.sender] + step.sender_s;
        const Lanes expected = at[step.receiver] + step.receiver_s;
        const Lanes end = sent > expected ? sent : expected;
        const Lanes told = at[step.told_before];
        at[step.told] = told > end ? told : end;
        const Lanes released = at[step.released_before];
        at[step.released] = released > end ? released : end;
        ends[step.record] = end;
    }
}

/** Two transfers share a link when their times on it overlap and one of them passes forward; of those that
 * pass on their way back, a link carries some. Looked at in the order of the tape first, in which transfers
 * mostly follow each other; pattern by pattern and sorted where they don't. */
uint32_t LongestPath::contended(size_t patterns) const {
    uint32_t found = 0;
    const uint32_t all = (1U << patterns) - 1;
    for (size_t link = 0; link + 1 < first_passing_.size() && found != all; ++link) {
        const uint32_t suspects = out_of_order(link) & all & ~found;
        for (size_t pattern = 0; pattern < patterns; ++pattern)
            if ((suspects >> pattern & 1U) != 0 && shares(link, pattern))
                found |= 1U << pattern;
    }
    return found;
}

/** Patterns in which a transfer over the link begins before one that is before it on the tape has ended. */
OFFBEAT_WIDEST_VECTORS
uint32_t LongestPath::out_of_order(size_t link) const {
    const Lanes *const ends = reinterpret_cast<const Lanes *>(ends_.data());
    Lanes last_end = {};
    Lanes last_forward_end = {};
    Lanes earliest_by = {}; // how much too early the worst one is
    const uint32_t all_matter = room_[link] == enough ? 0 : 1;
    for (uint32_t i = first_passing_[link]; i < first_passing_[link + 1]; ++i) {
        const uint32_t record = passing_[i] / 2;
        const bool forward = ((passing_[i] | all_matter) & 1U) != 0;
        const Lanes end = ends[record];
        const Lanes early =
            (forward ? last_end : last_forward_end) - (end - transfer_s_[record] * (1 - rounding));
        earliest_by = early > earliest_by ? early : earliest_by;
        last_end = end > last_end ? end : last_end;
        if (forward)
            last_forward_end = end > last_forward_end ? end : last_forward_end;
    }
    uint32_t patterns = 0;
    for (size_t lane = 0; lane < lanes; ++lane)
        if (earliest_by[lane] > 0)
            patterns |= 1U << lane;
    return patterns;
}

namespace {

/** Adds a transfer to those under way when it starts; returns how many they are. */
size_t crowd(std::vector<double> &ends, double start, double end) {
    while (!ends.empty() && ends.front() <= start) {
        std::ranges::pop_heap(ends, std::greater{});
        ends.pop_back();
    }
    ends.push_back(end);
    std::ranges::push_heap(ends, std::greater{});
    return ends.size();
}

} // namespace

bool LongestPath::shares(size_t link, size_t pattern) const {
    struct Pass {
        double start;
        double end;
        bool forward;
    };
    std::vector<Pass> passes;
    for (uint32_t i = first_passing_[link]; i < first_passing_[link + 1]; ++i) {
        const uint32_t record = passing_[i] / 2;
        const double end = ends_[record].of[pattern];
        passes.push_back({end - transfer_s_[record] * (1 - rounding), end, (passing_[i] & 1U) != 0});
    }
    std::ranges::sort(passes, {}, &Pass::start);
    double last_end = 0;
    double last_forward_end = 0;
    std::vector<double> back; // a heap: when those end that are on their way back
    for (const Pass &pass : passes) {
        if (pass.start < (pass.forward ? last_end : last_forward_end))
            return true;
        if (!pass.forward && room_[link] != enough && crowd(back, pass.start, pass.end) > room_[link])
            return true;
        last_end = std::max(last_end, pass.end);
        if (pass.forward)
            last_forward_end = std::max(last_forward_end, pass.end);
    }
    return false;
}

size_t LongestPath::memory_bytes() const {
    return tape_.capacity() * sizeof(Step) + (at_.capacity() + ends_.capacity()) * sizeof(Moment) +
           transfer_s_.capacity() * sizeof(double) +
           (first_passing_.capacity() + passing_.capacity() + room_.capacity()) * sizeof(uint32_t);
}

} // namespace offbeat::evaluate
