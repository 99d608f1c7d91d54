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

/** Over the first many_solves computations of rates in a run, the tolerance grows by coarsest_step times
 * itself. */
constexpr double many_solves = 50'000;
constexpr double coarsest_step = 1.5;

/** Marks a post among the entries of later_. */
constexpr uint32_t post_bit = 1U << 31U;

bool later(const TimedEntry &a, const TimedEntry &b) {
    return a.time > b.time;
}

} // namespace

Fluid::Fluid(const Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
             std::span<const SizeCosts> costs, double bytes_per_element, double tolerance)
    : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
      bytes_per_element_(bytes_per_element), tolerance_(tolerance),
      charges_(message_costs.send_overhead_s > 0 || !graph.work.empty()), state_(graph.messages.size()),
      popped_(graph.queues()), busy_until_(static_cast<size_t>(graph.p)),
      arrivals_(static_cast<size_t>(graph.p)), shares_(traffic), transfers_(traffic.node_pairs.size()),
      ends_(traffic.node_pairs.size()), moving_(costs.size()) {
    make_delays();
}

/** Messages with the same fixed delay leave in the order in which they enter: one queue per delay. */
void Fluid::make_delays() {
    const auto queue_of = [&](double delay, size_t first) {
        size_t queue = first;
        while (queue < delay_s_.size() && delay_s_[queue] != delay)
            ++queue;
        if (queue == delay_s_.size())
            delay_s_.push_back(delay);
        return static_cast<uint32_t>(queue);
    };
    for (const SizeCosts &cost : costs_)
        intra_node_.push_back(queue_of(cost.inside_latency_s + cost.inside_transfer_s, 0));
    first_latency_ = delay_s_.size();
    for (const SizeCosts &cost : costs_)
        for (const double latency_s : traffic_.latencies_s)
            route_latency_.push_back(queue_of(cost.latency_factor * latency_s, first_latency_));
    latencies_ = traffic_.latencies_s.size();
    delays_.resize(delay_s_.size());
}

void Fluid::reset() {
    pending_ = graph_.needs;
    std::ranges::fill(state_, 0);
    std::ranges::fill(popped_, 0);
    std::ranges::fill(busy_until_, 0);
    std::ranges::fill(moving_, 0);
    ready_.clear();
    later_.clear();
    for (OrderedQueue &queue : delays_)
        queue.clear();
    for (Transfer &transfer : transfers_) {
        transfer.moved = 0;
        transfer.ends.clear();
    }
    shares_.reset();
    ends_.reset();
    arrived_ = exited_ = 0;
    deadline_ = never;
    window_ = instant_s;
    solves_ = 0;
}

void Fluid::run(std::span<const double> arrivals_s, std::span<double> exits_s) {
    reset();
    arrivals_s_ = arrivals_s;
    exits_s_ = exits_s;
    std::iota(arrivals_.begin(), arrivals_.end(), 0);
    std::ranges::stable_sort(arrivals_, {}, [&](uint32_t rank) { return arrivals_s[rank]; });
    while (step()) {
    }
    if (exited_ != static_cast<size_t>(graph_.p))
        throw std::logic_error("only " + std::to_string(exited_) + " of " + std::to_string(graph_.p) +
                               " ranks leave: the others wait for each other");
}

double Fluid::next_delay(size_t &queue) const {
    double earliest = never;
    for (size_t i = 0; i < delays_.size(); ++i) {
        if (delays_[i].time() < earliest) {
            earliest = delays_[i].time();
            queue = i;
        }
    }
    return earliest;
}

/** Processes the earliest event; false if there is none. Everything is inlined, as events are so short that
 * function calls would dominate. */
[[gnu::flatten]] bool Fluid::step() {
    size_t queue = 0;
    const double delayed = next_delay(queue);
    const double ended = ends_.time();
    const double arrives = arrived_ < arrivals_.size() ? arrivals_s_[arrivals_[arrived_]] : never;
    const double freed = later_.empty() ? never : later_.front().time;
    const double next = std::min({delayed, ended, arrives, freed});
    if (next > deadline_) {
        solve();
        return true;
    }
    if (next == never)
        return false;
    const bool begins = next == delayed && queue >= first_latency_;
    if (!begins || next > now_ + together_s)
        now_ = next;
    if (next == delayed) {
        take_delayed(queue);
    } else if (next == ended) {
        do
            end_transfers(ends_.which());
        while (ends_.time() == now_);
    } else if (next == arrives) {
        ready_.push_back(graph_.entry[arrivals_[arrived_++]]);
    } else {
        const uint32_t id = later_.front().id;
        std::ranges::pop_heap(later_, later);
        later_.pop_back();
        if (id & post_bit)
            post(graph_.posts[id & ~post_bit]);
        else
            start_vertex(id);
    }
    fire_ready();
    return true;
}

/** Processes all messages of a queue that are due at this time. */
void Fluid::take_delayed(size_t queue) {
    OrderedQueue &due = delays_[queue];
    const bool delivers = queue < first_latency_;
    do {
        const uint32_t message = due.which();
        due.pop();
        if (delivers)
            deliver(message);
        else
            activate(message);
    } while (due.time() <= (delivers ? now_ : now_ + together_s));
}

void Fluid::signal(Target target) {
    if (target == schedule::no_target)
        return;
    if (target & schedule::queue_bit) {
        const uint32_t queue = target & ~schedule::queue_bit;
        const uint32_t pop = graph_.first_pop[queue] + popped_[queue]++;
        if (pop == graph_.first_pop[queue + 1])
            return; // more completions than pops: no vertex waits for this one
        target = graph_.pops[pop];
    }
    if (--pending_[target] == 0)
        ready_.push_back(target);
}

void Fluid::fire_ready() {
    while (!ready_.empty()) {
        const uint32_t vertex = ready_.back();
        ready_.pop_back();
        fire(vertex);
    }
}

/** A vertex fires now or, if local work takes time, when the rank has finished its work. */
void Fluid::fire(uint32_t vertex) {
    if (!charges_) {
        start_vertex(vertex);
        return;
    }
    double &busy_until = busy_until_[graph_.rank[vertex]];
    busy_until = std::max(now_, busy_until) + work_before(vertex);
    if (busy_until <= now_)
        start_vertex(vertex);
    else
        wait_until(busy_until, vertex);
    for (uint32_t i = graph_.first_post[vertex]; i < graph_.first_post[vertex + 1]; ++i)
        if (schedule::is_send(graph_.posts[i]))
            busy_until += message_costs_.send_overhead_s;
}

void Fluid::wait_until(double time, uint32_t id) {
    later_.push_back({time, id});
    std::ranges::push_heap(later_, later);
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
    if (charges_)
        post_in_turn(first, last);
    else
        for (uint32_t i = first; i < last; ++i)
            post(graph_.posts[i]);
    const uint32_t first_next = graph_.first_next[vertex];
    const uint32_t last_next = graph_.first_next[vertex + 1];
    for (uint32_t i = first_next; i < last_next; ++i)
        signal(graph_.next[i]);
    if (first == last && first_next == last_next && graph_.exit[graph_.rank[vertex]] == vertex) {
        exits_s_[graph_.rank[vertex]] = now_;
        ++exited_;
    }
}

/** Each send occupies its rank for some time; later posts of the vertex wait for it. */
void Fluid::post_in_turn(uint32_t first, uint32_t last) {
    double free = now_;
    for (uint32_t i = first; i < last; ++i) {
        if (schedule::is_send(graph_.posts[i]))
            free += message_costs_.send_overhead_s;
        if (free <= now_)
            post(graph_.posts[i]);
        else
            wait_until(free, i | post_bit);
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
    uint8_t &state = state_[message];
    state |= send_posted;
    if (cost.eager || (state & receive_posted))
        begin(message);
    if (cost.detached)
        signal(route.sender_target);
}

void Fluid::post_receive(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    uint8_t &state = state_[message];
    state |= receive_posted;
    if (!(state & send_posted))
        return;
    if (!costs_[route.size].eager)
        begin(message);
    else if (state & delivered)
        signal(route.receiver_target);
}

void Fluid::begin(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    if (route.node_pair == intra_node)
        delay(message, intra_node_[route.size]);
    else if (latencies_ == 1)
        delay(message, route_latency_[route.size]);
    else
        delay(message,
              route_latency_[route.size * latencies_ + traffic_.node_pairs[route.node_pair].latency]);
}

void Fluid::delay(uint32_t message, uint32_t queue) {
    delays_[queue].push(now_ + delay_s_[queue], message);
}

/** The latency of the message's route is over: its transfer starts. */
void Fluid::activate(uint32_t message) {
    const uint32_t node_pair = traffic_.message_routes[message].node_pair;
    const uint32_t size = traffic_.message_routes[message].size;
    Transfer &transfer = transfers_[node_pair];
    if (shares_.flows(node_pair) == 0) {
        transfer.moved = 0;
        transfer.updated = now_;
    }
    const double moved = transfer.moved + shares_.rate(node_pair) * (now_ - transfer.updated);
    transfer.ends.push(moved + costs_[size].work, message);
    if (transfer.ends.which() == message && shares_.rate(node_pair) > 0)
        schedule_end(node_pair); // it ends before the others, and the rate may not change
    ++moving_[size];
    shares_.add_flow(node_pair);
    mark_dirty();
}

void Fluid::mark_dirty() {
    if (deadline_ == never) {
        deadline_ = now_ + window_;
        first_change_ = now_;
        changes_ = changes_after_first_s_ = 0;
    }
    last_change_ = now_;
    changes_ += 1;
    changes_after_first_s_ += now_ - first_change_;
}

/** Ends all transfers of the node pair that are complete by now. */
void Fluid::end_transfers(uint32_t node_pair) {
    Transfer &transfer = transfers_[node_pair];
    const double moved = transfer.moved + shares_.rate(node_pair) * (now_ - transfer.updated);
    do {
        const uint32_t message = transfer.ends.which();
        transfer.ends.pop();
        --moving_[traffic_.message_routes[message].size];
        shares_.remove_flow(node_pair);
        deliver(message);
    } while (transfer.ends.time() <= moved * (1 + 1e-12));
    mark_dirty();
    schedule_end(node_pair);
}

/** Schedules the end of the node pair's first flow at the current rates. */
void Fluid::schedule_end(uint32_t node_pair) {
    const Transfer &transfer = transfers_[node_pair];
    const double rate = shares_.rate(node_pair);
    if (transfer.ends.empty() || rate <= 0)
        ends_.set(node_pair, never);
    else
        ends_.set(node_pair,
                  std::max(now_, transfer.updated + (transfer.ends.time() - transfer.moved) / rate));
}

void Fluid::deliver(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    uint8_t &state = state_[message];
    state |= delivered;
    if (state & receive_posted)
        signal(route.receiver_target);
    if (!costs_[route.size].detached)
        signal(route.sender_target);
}

/** Rates change at the last event that changed the flows. A node pair that was idle before is credited with
 * what it would have moved since its first flow started. */
void Fluid::solve() {
    ++solves_;
    now_ = last_change_;
    deadline_ = never;
    const auto node_pairs = shares_.solve();
    const double mean_change = first_change_ + changes_after_first_s_ / changes_;
    const bool many = node_pairs.size() * 4 > ends_.size();
    double throughput = 0;
    double flows = 0;
    for (const uint32_t node_pair : node_pairs) {
        Transfer &transfer = transfers_[node_pair];
        const double before = shares_.rate(node_pair);
        const double after = shares_.new_rate(node_pair);
        throughput += after * shares_.flows(node_pair);
        flows += shares_.flows(node_pair);
        if (before == after)
            continue;
        const double changed = before > 0 ? std::max(transfer.updated, mean_change) : transfer.updated;
        transfer.moved += before * (changed - transfer.updated) + after * (now_ - changed);
        transfer.updated = now_;
        shares_.accept(node_pair);
        const double ends = std::max(now_, now_ + (transfer.ends.time() - transfer.moved) / after);
        if (many)
            ends_.put(node_pair, ends);
        else
            ends_.set(node_pair, ends);
    }
    if (many)
        ends_.rebuild();
    if (tolerance_ > 0 && throughput > 0)
        window_ = std::max(together_s, coarseness() * tolerance_ * mean_work() * flows / throughput);
}

/** If rates are computed very often, more changes take effect together. */
double Fluid::coarseness() const {
    return 1 + coarsest_step * std::min(1.0, static_cast<double>(solves_) / many_solves);
}

/** The mean work of the messages on links, so that a few small messages among large ones do not reduce the
 * tolerance. */
double Fluid::mean_work() const {
    double work = 0;
    double messages = 0;
    for (size_t size = 0; size < moving_.size(); ++size) {
        work += moving_[size] * costs_[size].work;
        messages += moving_[size];
    }
    return messages > 0 ? work / messages : 0;
}

} // namespace offbeat::evaluate
