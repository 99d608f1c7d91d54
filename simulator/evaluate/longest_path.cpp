#include "evaluate/longest_path.hpp"

#include "evaluate/queues.hpp"

#include <algorithm>
#include <array>
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
using schedule::no_target;

namespace {

constexpr size_t lanes = LongestPath::lanes;
constexpr uint32_t no_slot = UINT32_MAX;
constexpr uint32_t no_limit = UINT32_MAX;

/** Fraction of a transfer by which two transfers may overlap without contention: the rounding errors of their
 * times, which are sums of up to some million terms (2^-53 each), and nothing that a user could measure. */
constexpr double rounding = 1e-9;

/** A quantity of all patterns that are evaluated together. */
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double)), may_alias));

} // namespace

bool LongestPath::possible(const Graph &graph, const MessageCosts &message_costs) {
    const bool charges = message_costs.send_overhead_s > 0 || !graph.work.empty();
    return graph.queues() == 0 && (graph.chains || !charges);
}

/** Traverses the graph once in topological order, and writes the steps. */
class LongestPath::Compiler {
  public:
    Compiler(const Graph &graph, const Traffic &traffic, const MessageCosts &message_costs,
             std::span<const SizeCosts> costs, double bytes_per_element, LongestPath &path)
        : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
          bytes_per_element_(bytes_per_element), path_(path), open_needs_(graph.needs),
          slot_(graph.vertices(), no_slot), readers_(graph.vertices()), sides_(graph.messages.size()) {
    }

    /** Returns the node pairs of the records. */
    std::vector<uint32_t> write() {
        path_.steps_.reserve(graph_.messages.size());
        path_.transfer_s_.push_back(0);
        for (const uint32_t vertex : graph_.entry) {
            path_.entry_slot_.push_back(slot(vertex));
            ready_.push_back(vertex);
        }
        size_t fire_count = 0;
        while (fire_count < ready_.size())
            fire(ready_[fire_count++]);
        if (fire_count != graph_.vertices())
            throw std::logic_error("ranks wait for each other forever");
        for (const uint32_t vertex : graph_.exit)
            path_.exit_slot_.push_back(slot_[vertex]);
        path_.slot_times_.resize(slots_ + 1);
        path_.ends_.resize(path_.transfer_s_.size());
        return std::move(node_pairs_);
    }

  private:
    /** The vertices of both posts of a message, as far as they have fired. */
    struct Sides {
        uint32_t sender = no_target;
        uint32_t receiver = no_target;
        double sender_s = 0; /**< time from the vertex to the post */
        double receiver_s = 0;
    };

    uint32_t slot(uint32_t vertex) {
        if (slot_[vertex] == no_slot) {
            slot_[vertex] = free_.empty() ? ++slots_ : free_.back();
            if (!free_.empty())
                free_.pop_back();
        }
        return slot_[vertex];
    }

    /** The slot of a vertex to update, and the slot that has its value so far. */
    void update_slots(uint32_t vertex, uint32_t &output, uint32_t &input) {
        input = slot_[vertex] == no_slot ? 0 : slot_[vertex];
        output = slot(vertex);
    }

    void read(uint32_t vertex) {
        if (--readers_[vertex] == 0)
            free_.push_back(slot_[vertex]);
    }

    void signal(uint32_t vertex) {
        if (vertex != no_target && --open_needs_[vertex] == 0)
            ready_.push_back(vertex);
    }

    void fire(uint32_t vertex) {
        const uint32_t first = graph_.first_post[vertex];
        const uint32_t last = graph_.first_post[vertex + 1];
        const bool exits = graph_.exit[graph_.rank[vertex]] == vertex;
        readers_[vertex] = last - first + 1 + (exits ? 1 : 0);
        add_work(vertex);
        const uint32_t implied_target = followed_by_receive(first, last);
        double busy_s = 0;
        for (uint32_t i = first; i < last; ++i) {
            if (schedule::is_send(graph_.posts[i]))
                busy_s += message_costs_.send_overhead_s;
            post(vertex, graph_.posts[i], busy_s, implied_target);
        }
        if (busy_s > 0 &&
            !exits) // possible() guarantees that the next vertex of the rank has the next number
            add_edge(vertex, vertex + 1, busy_s);
        for (uint32_t i = graph_.first_next[vertex]; i < graph_.first_next[vertex + 1]; ++i) {
            add_edge(vertex, graph_.next[i], 0);
            signal(graph_.next[i]);
        }
        read(vertex);
    }

    /** A vertex that waits for one of these receives, and so already follows their vertex. */
    [[nodiscard]] uint32_t followed_by_receive(uint32_t first, uint32_t last) const {
        for (uint32_t i = first; i < last; ++i)
            if (!schedule::is_send(graph_.posts[i]))
                return traffic_.message_routes[graph_.posts[i] / 2].receiver_target;
        return no_target;
    }

    void add_work(uint32_t vertex) {
        if (graph_.work.empty())
            return;
        const schedule::LocalWork &work = graph_.work[vertex];
        const double seconds =
            static_cast<double>(work.received) * message_costs_.receive_overhead_s +
            bytes_per_element_ * (static_cast<double>(work.reduced) * message_costs_.reduce_s_per_byte +
                                  static_cast<double>(work.copied) * message_costs_.copy_s_per_byte);
        if (seconds > 0)
            add_edge(vertex, vertex, seconds);
    }

    void add_edge(uint32_t source, uint32_t target, double seconds) {
        Step step;
        step.sender = step.receiver = slot(source);
        step.sender_s = step.receiver_s = seconds;
        update_slots(target, step.receiver_out, step.receiver_in);
        step.sender_out = step.sender_in = step.receiver_out;
        path_.steps_.push_back(step);
    }

    void post(uint32_t vertex, uint32_t post, double busy_s, uint32_t implied_target) {
        const uint32_t message = post / 2;
        const MessageRoute &route = traffic_.message_routes[message];
        Sides &sides = sides_[message];
        (schedule::is_send(post) ? sides.sender : sides.receiver) = vertex;
        (schedule::is_send(post) ? sides.sender_s : sides.receiver_s) = busy_s;
        if (schedule::is_send(post) && costs_[route.size].is_detached && route.sender_target != no_target) {
            // A step of its own, as the message may be delivered much later.
            if (route.sender_target != implied_target)
                add_edge(vertex, route.sender_target, busy_s);
            signal(route.sender_target);
        }
        if (sides.sender != no_target && sides.receiver != no_target)
            add_message(message);
    }

    void add_message(uint32_t message) {
        const MessageRoute &route = traffic_.message_routes[message];
        const SizeCosts &cost = costs_[route.size];
        const Sides &sides = sides_[message];
        Step step;
        const double duration_s = duration(route, cost, step.record);
        step.sender = slot_[sides.sender];
        step.receiver = cost.eager ? step.sender : slot_[sides.receiver];
        step.sender_s = sides.sender_s + duration_s;
        step.receiver_s = cost.eager ? step.sender_s : sides.receiver_s + duration_s;
        const uint32_t released_target = cost.is_detached ? no_target : route.sender_target;
        update_slots_if_any(route.receiver_target, step.receiver_out, step.receiver_in);
        update_slots_if_any(released_target, step.sender_out, step.sender_in);
        path_.steps_.push_back(step);
        if (cost.eager && route.receiver_target != no_target)
            add_edge(sides.receiver, route.receiver_target, sides.receiver_s);
        signal(route.receiver_target);
        signal(released_target);
        read(sides.sender);
        read(sides.receiver);
    }

    double duration(const MessageRoute &route, const SizeCosts &cost, uint32_t &record) {
        if (route.node_pair == intra_node)
            return cost.inside_latency_s + cost.inside_transfer_s;
        const NodePair &pair = traffic_.node_pairs[route.node_pair];
        const double transfer_s = cost.work / pair.solo_rate;
        record = static_cast<uint32_t>(path_.transfer_s_.size());
        path_.transfer_s_.push_back(transfer_s);
        node_pairs_.push_back(route.node_pair);
        return traffic_.latencies_s[pair.latency] * cost.latency_factor + transfer_s;
    }

    /** update_slots(), or a slot that is never read if there is no vertex. */
    void update_slots_if_any(uint32_t vertex, uint32_t &output, uint32_t &input) {
        if (vertex != no_target) {
            update_slots(vertex, output, input);
            return;
        }
        if (unread_ == 0)
            unread_ = ++slots_;
        output = input = unread_;
    }

    const Graph &graph_;
    const Traffic &traffic_;
    const MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    LongestPath &path_;
    std::vector<uint32_t> open_needs_;
    std::vector<uint32_t> slot_;
    std::vector<uint32_t> readers_; /**< per vertex: steps that will still read its slot */
    std::vector<Sides> sides_;
    std::vector<uint32_t> ready_;
    std::vector<uint32_t> free_;
    std::vector<uint32_t> node_pairs_;
    uint32_t slots_ = 0;
    uint32_t unread_ = 0;
};

LongestPath::LongestPath(const Graph &graph, const Traffic &traffic, const MessageCosts &message_costs,
                         std::span<const SizeCosts> costs, double bytes_per_element)
    : traffic_(traffic), p_(static_cast<size_t>(graph.p)) {
    Compiler compiler(graph, traffic, message_costs, costs, bytes_per_element, *this);
    const std::vector<uint32_t> node_pairs = compiler.write();
    list_traversals(node_pairs);
    compute_max_reverse(node_pairs);
}

/** Lists the records that traverse each link. */
void LongestPath::list_traversals(std::span<const uint32_t> node_pairs) {
    first_traversal_.assign(traffic_.capacities.size() + 1, 0);
    const auto hops = [&](uint32_t node_pair) {
        const NodePair &pair = traffic_.node_pairs[node_pair];
        return std::span(traffic_.hops).subspan(pair.first_hop, pair.hops);
    };
    for (const uint32_t node_pair : node_pairs)
        for (const platform::Hop &hop : hops(node_pair))
            ++first_traversal_[hop.link + 1];
    std::partial_sum(first_traversal_.begin(), first_traversal_.end(), first_traversal_.begin());
    traversals_.resize(first_traversal_.back());
    std::vector<uint32_t> next(first_traversal_.begin(), first_traversal_.end() - 1);
    for (uint32_t record = 1; record <= node_pairs.size(); ++record)
        for (const platform::Hop &hop : hops(node_pairs[record - 1]))
            traversals_[next[hop.link]++] = record * 2 + (hop.weight >= 1 ? 1 : 0);
}

/** Transfers that share no forward link start at different links and end at different links: if these are
 * few, a link has capacity for the reverse flows of all of them. */
void LongestPath::compute_max_reverse(std::span<const uint32_t> node_pairs) {
    max_reverse_.assign(traffic_.capacities.size(), no_limit);
    std::vector<size_t> last_source(max_reverse_.size(),
                                    max_reverse_.size()); // per link: the last link for which it was counted
    std::vector<size_t> last_target = last_source;
    for (size_t link = 0; link < max_reverse_.size(); ++link) {
        uint32_t sources = 0;
        uint32_t targets = 0;
        double demand = 0; // of the largest reverse flow
        for (uint32_t i = first_traversal_[link]; i < first_traversal_[link + 1]; ++i) {
            if ((traversals_[i] & 1U) != 0)
                continue;
            const NodePair &pair = traffic_.node_pairs[node_pairs[traversals_[i] / 2 - 1]];
            const auto hops = std::span(traffic_.hops).subspan(pair.first_hop, pair.hops);
            size_t last = 0;
            for (size_t hop = 0; hop < hops.size(); ++hop) {
                if (hops[hop].weight >= 1)
                    last = hop;
                else if (hops[hop].link == link)
                    demand = std::max(demand, hops[hop].weight * pair.solo_rate);
            }
            sources += std::exchange(last_source[hops[0].link], link) != link ? 1 : 0;
            targets += std::exchange(last_target[hops[last].link], link) != link ? 1 : 0;
        }
        if (std::min(sources, targets) * demand > traffic_.capacities[link] * (1 + rounding))
            max_reverse_[link] = static_cast<uint32_t>(traffic_.capacities[link] * (1 + rounding) / demand);
    }
}

void LongestPath::run(std::span<const double> arrivals_s, std::span<double> exits_s) {
    const size_t patterns = arrivals_s.size() / p_;
    std::array<std::span<const double>, lanes> arrivals;
    std::array<double, lanes> first_s{}; // the first arrival, from which times count
    for (size_t lane = 0; lane < lanes; ++lane) {
        arrivals[lane] = arrivals_s.subspan(std::min(lane, patterns - 1) * p_, p_);
        first_s[lane] = std::ranges::min(arrivals[lane]);
    }
    slot_times_[0] = {};
    for (size_t rank = 0; rank < p_; ++rank)
        for (size_t lane = 0; lane < lanes; ++lane)
            slot_times_[entry_slot_[rank]].lane_times[lane] = arrivals[lane][rank] - first_s[lane];
    execute_steps();
    for (size_t rank = 0; rank < p_; ++rank)
        for (size_t lane = 0; lane < patterns; ++lane)
            exits_s[lane * p_ + rank] =
                exit_s(arrivals[lane][rank], first_s[lane], slot_times_[exit_slot_[rank]].lane_times[lane]);
}

OFFBEAT_WIDEST_VECTORS
void LongestPath::execute_steps() {
    Lanes *const times = reinterpret_cast<Lanes *>(slot_times_.data());
    Lanes *const ends = reinterpret_cast<Lanes *>(ends_.data());
    for (const Step &step : steps_) {
        const Lanes send_time = times[step.sender] + step.sender_s;
        const Lanes receive_time = times[step.receiver] + step.receiver_s;
        const Lanes end = send_time > receive_time ? send_time : receive_time;
        const Lanes receiver = times[step.receiver_in];
        times[step.receiver_out] = receiver > end ? receiver : end;
        const Lanes sender = times[step.sender_in];
        times[step.sender_out] = sender > end ? sender : end;
        ends[step.record] = end;
    }
}

/** Two transfers contend for a link if their times on it overlap and one of them is a forward flow; a link
 * has capacity for max_reverse_ reverse flows. First compares transfers in the order of the steps, in which
 * they mostly follow each other; patterns in which they do not are sorted and examined one by one. */
uint32_t LongestPath::contended_patterns(size_t patterns) const {
    uint32_t contended_patterns = 0;
    const uint32_t all_patterns = (1U << patterns) - 1;
    for (size_t link = 0; link + 1 < first_traversal_.size() && contended_patterns != all_patterns; ++link) {
        const uint32_t suspects = out_of_order(link) & all_patterns & ~contended_patterns;
        for (size_t pattern = 0; pattern < patterns; ++pattern)
            if ((suspects >> pattern & 1U) != 0 && has_contention(link, pattern))
                contended_patterns |= 1U << pattern;
    }
    return contended_patterns;
}

/** The patterns in which a transfer over the link starts before the end of a transfer of an earlier step. */
OFFBEAT_WIDEST_VECTORS
uint32_t LongestPath::out_of_order(size_t link) const {
    const Lanes *const ends = reinterpret_cast<const Lanes *>(ends_.data());
    Lanes last_end = {};
    Lanes last_forward_end = {};
    Lanes largest_overlap = {}; // the largest overlap
    const uint32_t all_matter = max_reverse_[link] == no_limit ? 0 : 1;
    for (uint32_t i = first_traversal_[link]; i < first_traversal_[link + 1]; ++i) {
        const uint32_t record = traversals_[i] / 2;
        const bool forward = ((traversals_[i] | all_matter) & 1U) != 0;
        const Lanes end = ends[record];
        const Lanes overlap =
            (forward ? last_end : last_forward_end) - (end - transfer_s_[record] * (1 - rounding));
        largest_overlap = overlap > largest_overlap ? overlap : largest_overlap;
        last_end = end > last_end ? end : last_end;
        if (forward)
            last_forward_end = end > last_forward_end ? end : last_forward_end;
    }
    uint32_t patterns = 0;
    for (size_t lane = 0; lane < lanes; ++lane)
        if (largest_overlap[lane] > 0)
            patterns |= 1U << lane;
    return patterns;
}

namespace {

/** Adds a transfer to those that are active when it starts; returns their number. */
size_t add_active(std::vector<double> &ends, double start, double end) {
    while (!ends.empty() && ends.front() <= start) {
        std::ranges::pop_heap(ends, std::greater{});
        ends.pop_back();
    }
    ends.push_back(end);
    std::ranges::push_heap(ends, std::greater{});
    return ends.size();
}

} // namespace

bool LongestPath::has_contention(size_t link, size_t pattern) const {
    struct Traversal {
        double start;
        double end;
        bool forward;
    };
    std::vector<Traversal> traversals;
    for (uint32_t i = first_traversal_[link]; i < first_traversal_[link + 1]; ++i) {
        const uint32_t record = traversals_[i] / 2;
        const double end = ends_[record].lane_times[pattern];
        traversals.push_back({end - transfer_s_[record] * (1 - rounding), end, (traversals_[i] & 1U) != 0});
    }
    std::ranges::sort(traversals, {}, &Traversal::start);
    double last_end = 0;
    double last_forward_end = 0;
    std::vector<double> reverse; // a heap of the ends of active reverse flows
    for (const Traversal &traversal : traversals) {
        if (traversal.start < (traversal.forward ? last_end : last_forward_end))
            return true;
        if (!traversal.forward && max_reverse_[link] != no_limit &&
            add_active(reverse, traversal.start, traversal.end) > max_reverse_[link])
            return true;
        last_end = std::max(last_end, traversal.end);
        if (traversal.forward)
            last_forward_end = std::max(last_forward_end, traversal.end);
    }
    return false;
}

} // namespace offbeat::evaluate
