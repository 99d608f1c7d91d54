#include "evaluate/fluid.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace offbeat::evaluate {

using schedule::Graph;
using schedule::Target;

namespace {

/** Changes within this time are simultaneous, up to rounding. */
constexpr double instant_s = 1e-13;

/** A message whose latency ends within this time after another event starts its transfer at that event's
 * time: SimGrid's time precision. It keeps ranks synchronised that differ only by rounding. */
constexpr double together_s = 1e-9;

/** Over the first solves_until_largest_tolerance computations of rates in a run, the tolerance grows by
 * largest_growth times itself. */
constexpr double solves_until_largest_tolerance = 50'000;
constexpr double largest_growth = 1.5;

/** Marks a post among the entries of waiting_for_rank_. */
constexpr uint32_t post_bit = 1U << 31U;

bool later(const TimedEntry &a, const TimedEntry &b) {
    return a.time > b.time;
}

} // namespace

Fluid::Fluid(const Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
             std::span<const SizeCosts> costs, double bytes_per_element, double tolerance)
    : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
      bytes_per_element_(bytes_per_element), tolerance_(tolerance),
      posts_or_work_take_time_(message_costs.send_overhead_s > 0 || !graph.work.empty()),
      message_state_(graph.messages.size()), completions_(graph.queues()),
      busy_until_s_(static_cast<size_t>(graph.p)), ranks_by_arrival_(static_cast<size_t>(graph.p)),
      shares_(traffic), pair_transfers_(traffic.node_pairs.size()), pair_end_s_(traffic.node_pairs.size()),
      messages_on_links_(costs.size()) {
    create_delay_queues();
}

/** Messages with the same fixed delay leave in the order in which they enter: one queue per delay. */
void Fluid::create_delay_queues() {
    const auto queue_of = [&](double delay, size_t first) {
        size_t queue = first;
        while (queue < delay_s_.size() && delay_s_[queue] != delay)
            ++queue;
        if (queue == delay_s_.size())
            delay_s_.push_back(delay);
        return static_cast<uint32_t>(queue);
    };
    for (const SizeCosts &cost : costs_)
        intra_node_queue_.push_back(queue_of(cost.inside_latency_s + cost.inside_transfer_s, 0));
    first_latency_queue_ = delay_s_.size();
    for (const SizeCosts &cost : costs_)
        for (const double latency_s : traffic_.latencies_s)
            latency_queue_.push_back(queue_of(cost.latency_factor * latency_s, first_latency_queue_));
    latency_count_ = traffic_.latencies_s.size();
    delay_queues_.resize(delay_s_.size());
}

void Fluid::reset() {
    pending_dependencies_ = graph_.needs;
    std::ranges::fill(message_state_, 0);
    std::ranges::fill(completions_, 0);
    std::ranges::fill(busy_until_s_, 0);
    std::ranges::fill(messages_on_links_, 0);
    ready_vertices_.clear();
    waiting_for_rank_.clear();
    for (OrderedQueue &queue : delay_queues_)
        queue.clear();
    for (PairTransfers &pair : pair_transfers_) {
        pair.moved_bytes = 0;
        pair.ends.clear();
    }
    shares_.reset();
    pair_end_s_.reset();
    arrived_ = exited_ = 0;
    solve_at_s_ = never;
    window_s_ = instant_s;
    solve_count_ = 0;
}

void Fluid::run(std::span<const double> arrivals_s, std::span<double> exits_s) {
    reset();
    arrivals_s_ = arrivals_s;
    exits_s_ = exits_s;
    std::iota(ranks_by_arrival_.begin(), ranks_by_arrival_.end(), 0);
    std::ranges::stable_sort(ranks_by_arrival_, {}, [&](uint32_t rank) { return arrivals_s[rank]; });
    while (process_next_event()) {
    }
    if (exited_ != static_cast<size_t>(graph_.p))
        throw std::logic_error("only " + std::to_string(exited_) + " of " + std::to_string(graph_.p) +
                               " ranks leave: the others wait for each other");
}

double Fluid::next_delay(size_t &queue) const {
    double earliest = never;
    for (size_t i = 0; i < delay_queues_.size(); ++i) {
        if (delay_queues_[i].first_time() < earliest) {
            earliest = delay_queues_[i].first_time();
            queue = i;
        }
    }
    return earliest;
}

/** Processes the earliest event; false if there is none. Everything is inlined, as events are so short that
 * function calls would dominate. */
[[gnu::flatten]] bool Fluid::process_next_event() {
    size_t queue = 0;
    const double delayed = next_delay(queue);
    const double ended = pair_end_s_.first_time();
    const double arrives =
        arrived_ < ranks_by_arrival_.size() ? arrivals_s_[ranks_by_arrival_[arrived_]] : never;
    const double freed = waiting_for_rank_.empty() ? never : waiting_for_rank_.front().time;
    const double next = std::min({delayed, ended, arrives, freed});
    if (next > solve_at_s_) {
        solve();
        return true;
    }
    if (next == never)
        return false;
    const bool begins = next == delayed && queue >= first_latency_queue_;
    if (!begins || next > now_s_ + together_s)
        now_s_ = next;
    if (next == delayed) {
        process_delayed(queue);
    } else if (next == ended) {
        do
            end_transfers(pair_end_s_.first_id());
        while (pair_end_s_.first_time() == now_s_);
    } else if (next == arrives) {
        ready_vertices_.push_back(graph_.entry[ranks_by_arrival_[arrived_++]]);
    } else {
        const uint32_t id = waiting_for_rank_.front().id;
        std::ranges::pop_heap(waiting_for_rank_, later);
        waiting_for_rank_.pop_back();
        if (id & post_bit)
            post(graph_.posts[id & ~post_bit]);
        else
            start_vertex(id);
    }
    fire_ready();
    return true;
}

/** Processes all messages of a queue that are due at this time. */
void Fluid::process_delayed(size_t queue) {
    OrderedQueue &due = delay_queues_[queue];
    const bool delivers = queue < first_latency_queue_;
    do {
        const uint32_t message = due.first_id();
        due.pop();
        if (delivers)
            deliver(message);
        else
            start_transfer(message);
    } while (due.first_time() <= (delivers ? now_s_ : now_s_ + together_s));
}

void Fluid::signal(Target target) {
    if (target == schedule::no_target)
        return;
    if (target & schedule::queue_bit) {
        const uint32_t queue = target & ~schedule::queue_bit;
        const uint32_t pop = graph_.first_pop[queue] + completions_[queue]++;
        if (pop == graph_.first_pop[queue + 1])
            return; // more completions than pops: no vertex waits for this one
        target = graph_.pops[pop];
    }
    if (--pending_dependencies_[target] == 0)
        ready_vertices_.push_back(target);
}

void Fluid::fire_ready() {
    while (!ready_vertices_.empty()) {
        const uint32_t vertex = ready_vertices_.back();
        ready_vertices_.pop_back();
        fire(vertex);
    }
}

/** A vertex fires now or, if local work takes time, when the rank has finished its work. */
void Fluid::fire(uint32_t vertex) {
    if (!posts_or_work_take_time_) {
        start_vertex(vertex);
        return;
    }
    double &busy_until = busy_until_s_[graph_.rank[vertex]];
    busy_until = std::max(now_s_, busy_until) + work_before(vertex);
    if (busy_until <= now_s_)
        start_vertex(vertex);
    else
        wait_for_rank(busy_until, vertex);
    for (uint32_t i = graph_.first_post[vertex]; i < graph_.first_post[vertex + 1]; ++i)
        if (schedule::is_send(graph_.posts[i]))
            busy_until += message_costs_.send_overhead_s;
}

void Fluid::wait_for_rank(double time, uint32_t id) {
    waiting_for_rank_.push_back({time, id});
    std::ranges::push_heap(waiting_for_rank_, later);
}

double Fluid::work_before(uint32_t vertex) const {
    if (graph_.work.empty())
        return 0;
    const schedule::LocalWork &work = graph_.work[vertex];
    return static_cast<double>(work.received) * message_costs_.receive_overhead_s +
           bytes_per_element_ * (static_cast<double>(work.reduced) * message_costs_.reduce_s_per_byte +
                                 static_cast<double>(work.copied) * message_costs_.copy_s_per_byte);
}

void Fluid::start_vertex(uint32_t vertex) {
    const uint32_t first = graph_.first_post[vertex];
    const uint32_t last = graph_.first_post[vertex + 1];
    if (posts_or_work_take_time_)
        post_in_turn(first, last);
    else
        for (uint32_t i = first; i < last; ++i)
            post(graph_.posts[i]);
    const uint32_t first_next = graph_.first_next[vertex];
    const uint32_t last_next = graph_.first_next[vertex + 1];
    for (uint32_t i = first_next; i < last_next; ++i)
        signal(graph_.next[i]);
    if (first == last && first_next == last_next && graph_.exit[graph_.rank[vertex]] == vertex) {
        exits_s_[graph_.rank[vertex]] = now_s_;
        ++exited_;
    }
}

/** Each send occupies its rank for some time; later posts of the vertex wait for it. */
void Fluid::post_in_turn(uint32_t first, uint32_t last) {
    double free = now_s_;
    for (uint32_t i = first; i < last; ++i) {
        if (schedule::is_send(graph_.posts[i]))
            free += message_costs_.send_overhead_s;
        if (free <= now_s_)
            post(graph_.posts[i]);
        else
            wait_for_rank(free, i | post_bit);
    }
}

void Fluid::post(uint32_t post) {
    if (schedule::is_send(post))
        post_send(post / 2);
    else
        post_receive(post / 2);
}

void Fluid::post_send(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    const SizeCosts &cost = costs_[route.size];
    uint8_t &state = message_state_[message];
    state |= send_posted;
    if (cost.eager || (state & receive_posted))
        start_latency(message);
    if (cost.detached)
        signal(route.sender_target);
}

void Fluid::post_receive(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    uint8_t &state = message_state_[message];
    state |= receive_posted;
    if (!(state & send_posted))
        return;
    if (!costs_[route.size].eager)
        start_latency(message);
    else if (state & delivered)
        signal(route.receiver_target);
}

/** The message leaves its sender: its transfer starts after the latency of the route; inside a node, the
 * whole message takes a fixed time. */
void Fluid::start_latency(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    if (route.node_pair == intra_node)
        enqueue(message, intra_node_queue_[route.size]);
    else if (latency_count_ == 1)
        enqueue(message, latency_queue_[route.size]);
    else
        enqueue(message,
                latency_queue_[route.size * latency_count_ + traffic_.node_pairs[route.node_pair].latency]);
}

void Fluid::enqueue(uint32_t message, uint32_t queue) {
    delay_queues_[queue].push(now_s_ + delay_s_[queue], message);
}

/** The latency of the message's route is over: its transfer starts. */
void Fluid::start_transfer(uint32_t message) {
    const uint32_t node_pair = traffic_.message_routes[message].node_pair;
    const uint32_t size = traffic_.message_routes[message].size;
    PairTransfers &pair = pair_transfers_[node_pair];
    if (shares_.flows(node_pair) == 0) {
        pair.moved_bytes = 0;
        pair.updated_s = now_s_;
    }
    const double moved = pair.moved_bytes + shares_.rate(node_pair) * (now_s_ - pair.updated_s);
    pair.ends.push(moved + costs_[size].work, message);
    if (pair.ends.first_id() == message && shares_.rate(node_pair) > 0)
        schedule_end(node_pair); // it ends before the others, and the rate may not change
    ++messages_on_links_[size];
    shares_.add_flow(node_pair);
    note_change();
}

/** The flows have changed: rates are computed again at the end of the window that the first change opens. */
void Fluid::note_change() {
    if (solve_at_s_ == never) {
        solve_at_s_ = now_s_ + window_s_;
        first_change_s_ = now_s_;
        changes_ = changes_after_first_s_ = 0;
    }
    last_change_s_ = now_s_;
    changes_ += 1;
    changes_after_first_s_ += now_s_ - first_change_s_;
}

/** Ends all transfers of the node pair that are complete by now. */
void Fluid::end_transfers(uint32_t node_pair) {
    PairTransfers &pair = pair_transfers_[node_pair];
    const double moved = pair.moved_bytes + shares_.rate(node_pair) * (now_s_ - pair.updated_s);
    do {
        const uint32_t message = pair.ends.first_id();
        pair.ends.pop();
        --messages_on_links_[traffic_.message_routes[message].size];
        shares_.remove_flow(node_pair);
        deliver(message);
    } while (pair.ends.first_time() <= moved * (1 + 1e-12));
    note_change();
    schedule_end(node_pair);
}

/** Schedules the end of the node pair's first flow at the current rates. */
void Fluid::schedule_end(uint32_t node_pair) {
    const PairTransfers &pair = pair_transfers_[node_pair];
    const double rate = shares_.rate(node_pair);
    if (pair.ends.empty() || rate <= 0)
        pair_end_s_.set(node_pair, never);
    else
        pair_end_s_.set(
            node_pair, std::max(now_s_, pair.updated_s + (pair.ends.first_time() - pair.moved_bytes) / rate));
}

void Fluid::deliver(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    uint8_t &state = message_state_[message];
    state |= delivered;
    if (state & receive_posted)
        signal(route.receiver_target);
    if (!costs_[route.size].detached)
        signal(route.sender_target);
}

/** Rates change at the last event that changed the flows. A node pair that was idle before is credited with
 * what it would have moved since its first flow started. */
void Fluid::solve() {
    ++solve_count_;
    now_s_ = last_change_s_;
    solve_at_s_ = never;
    const auto node_pairs = shares_.solve();
    const double mean_change = first_change_s_ + changes_after_first_s_ / changes_;
    const bool many = node_pairs.size() * 4 > pair_end_s_.size();
    double throughput = 0;
    double flows = 0;
    for (const uint32_t node_pair : node_pairs) {
        PairTransfers &pair = pair_transfers_[node_pair];
        const double before = shares_.rate(node_pair);
        const double after = shares_.new_rate(node_pair);
        throughput += after * shares_.flows(node_pair);
        flows += shares_.flows(node_pair);
        if (before == after)
            continue;
        const double changed = before > 0 ? std::max(pair.updated_s, mean_change) : pair.updated_s;
        pair.moved_bytes += before * (changed - pair.updated_s) + after * (now_s_ - changed);
        pair.updated_s = now_s_;
        shares_.accept(node_pair);
        const double ends = std::max(now_s_, now_s_ + (pair.ends.first_time() - pair.moved_bytes) / after);
        if (many)
            pair_end_s_.put(node_pair, ends);
        else
            pair_end_s_.set(node_pair, ends);
    }
    if (many)
        pair_end_s_.rebuild();
    if (tolerance_ > 0 && throughput > 0)
        window_s_ = std::max(together_s, tolerance_factor() * tolerance_ * mean_work() * flows / throughput);
}

/** If rates are computed very often, more changes take effect together. */
double Fluid::tolerance_factor() const {
    return 1 +
           largest_growth * std::min(1.0, static_cast<double>(solve_count_) / solves_until_largest_tolerance);
}

/** The mean work of the messages on links, so that a few small messages among large ones do not reduce the
 * tolerance. */
double Fluid::mean_work() const {
    double work = 0;
    double messages = 0;
    for (size_t size = 0; size < messages_on_links_.size(); ++size) {
        work += messages_on_links_[size] * costs_[size].work;
        messages += messages_on_links_[size];
    }
    return messages > 0 ? work / messages : 0;
}

} // namespace offbeat::evaluate
