#include "evaluate/fluid.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace offbeat::evaluate {

using schedule::Graph;
using schedule::Target;

namespace {

/** Simultaneous, up to rounding. */
constexpr double instant_s = 1e-13;

/** A message whose latency ends so shortly after another event begins to move with it: SimGrid's precision of
 * time, which keeps ranks in step that are in step but for rounding. */
constexpr double together_s = 1e-9;

/** After so many solutions of a run the tolerance has grown by this part of itself, and grows no more. */
constexpr double many_solves = 50'000;
constexpr double coarsest_step = 1.5;

/** Marks a post among the joints that wait for their time. */
constexpr uint32_t post_bit = 1U << 31U;

bool is_send(uint32_t post) {
    return (post & 1U) == 0;
}

bool later(const Due &a, const Due &b) {
    return a.at > b.at;
}

} // namespace

Fluid::Fluid(const Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
             std::span<const SizeCosts> costs, double bytes_per_element, double tolerance)
    : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
      bytes_per_element_(bytes_per_element), tolerance_(tolerance),
      charges_(message_costs.send_overhead_s > 0 || !graph.work.empty()), state_(graph.messages.size()),
      popped_(graph.queues()), busy_until_(static_cast<size_t>(graph.p)),
      arrivals_(static_cast<size_t>(graph.p)), shares_(traffic), transfers_(traffic.groups.size()),
      ends_(traffic.groups.size()), moving_(costs.size()) {
    make_delays();
}

/** Messages with the same fixed delay come out in the order in which they went in: a queue for each delay. */
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
        inside_.push_back(queue_of(cost.inside_latency_s + cost.inside_transfer_s, 0));
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
    solves_before_ = solves_;
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

/** Takes the earliest event; false when there is none. All that an event does is small: calls would cost as
 * much, and so there are none. */
[[gnu::flatten]] bool Fluid::step() {
    size_t queue = 0;
    const double delayed = next_delay(queue);
    const double ended = ends_.time();
    const double arrives = arrived_ < arrivals_.size() ? arrivals_s_[arrivals_[arrived_]] : never;
    const double freed = later_.empty() ? never : later_.front().at;
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
        const uint32_t what = later_.front().what;
        std::ranges::pop_heap(later_, later);
        later_.pop_back();
        if (what & post_bit)
            post(graph_.posts[what & ~post_bit]);
        else
            start_joint(what);
    }
    fire_ready();
    return true;
}

/** All that is due in this queue at this time. */
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
    if (target == schedule::nobody)
        return;
    if (target & schedule::queue_bit) {
        const uint32_t queue = target & ~schedule::queue_bit;
        const uint32_t pop = graph_.first_pop[queue] + popped_[queue]++;
        if (pop == graph_.first_pop[queue + 1])
            return; // more completions than pops: the program leaves the rest to nobody
        target = graph_.pops[pop];
    }
    if (--pending_[target] == 0)
        ready_.push_back(target);
}

void Fluid::fire_ready() {
    while (!ready_.empty()) {
        const uint32_t joint = ready_.back();
        ready_.pop_back();
        fire(joint);
    }
}

/** A joint fires now, or, where a rank's own time is charged, when the rank is free and its work is done. */
void Fluid::fire(uint32_t joint) {
    if (!charges_) {
        start_joint(joint);
        return;
    }
    double &busy_until = busy_until_[graph_.rank[joint]];
    busy_until = std::max(now_, busy_until) + work_before(joint);
    if (busy_until <= now_)
        start_joint(joint);
    else
        wait_until(busy_until, joint);
    for (uint32_t i = graph_.first_post[joint]; i < graph_.first_post[joint + 1]; ++i)
        if (is_send(graph_.posts[i]))
            busy_until += message_costs_.send_overhead_s;
}

void Fluid::wait_until(double time, uint32_t what) {
    later_.push_back({time, what});
    std::ranges::push_heap(later_, later);
}

double Fluid::work_before(uint32_t joint) const {
    if (graph_.work.empty())
        return 0;
    const schedule::LocalWork &work = graph_.work[joint];
    return static_cast<double>(work.received) * message_costs_.receive_overhead_s +
           bytes_per_element_ * (static_cast<double>(work.reduced) * message_costs_.reduce_s_per_byte +
                                 static_cast<double>(work.copied) * message_costs_.copy_s_per_byte);
}

void Fluid::start_joint(uint32_t joint) {
    const uint32_t first = graph_.first_post[joint];
    const uint32_t last = graph_.first_post[joint + 1];
    if (charges_)
        post_in_turn(first, last);
    else
        for (uint32_t i = first; i < last; ++i)
            post(graph_.posts[i]);
    const uint32_t first_next = graph_.first_next[joint];
    const uint32_t last_next = graph_.first_next[joint + 1];
    for (uint32_t i = first_next; i < last_next; ++i)
        signal(graph_.next[i]);
    if (first == last && first_next == last_next && graph_.exit[graph_.rank[joint]] == joint) {
        exits_s_[graph_.rank[joint]] = now_;
        ++exited_;
    }
}

/** Each send takes its rank some time; what comes after it is posted when that is over. */
void Fluid::post_in_turn(uint32_t first, uint32_t last) {
    double free = now_;
    for (uint32_t i = first; i < last; ++i) {
        if (is_send(graph_.posts[i]))
            free += message_costs_.send_overhead_s;
        if (free <= now_)
            post(graph_.posts[i]);
        else
            wait_until(free, i | post_bit);
    }
}

void Fluid::post(uint32_t post) {
    if (is_send(post))
        post_send(post / 2);
    else
        post_receive(post / 2);
}

void Fluid::post_send(uint32_t message) {
    const Leg &leg = traffic_.legs[message];
    const SizeCosts &cost = costs_[leg.size];
    uint8_t &state = state_[message];
    state |= sent;
    if (cost.eager || (state & expected))
        begin(message);
    if (cost.detached)
        signal(leg.sender_next);
}

void Fluid::post_receive(uint32_t message) {
    const Leg &leg = traffic_.legs[message];
    uint8_t &state = state_[message];
    state |= expected;
    if (!(state & sent))
        return;
    if (!costs_[leg.size].eager)
        begin(message);
    else if (state & arrived)
        signal(leg.receiver_next);
}

void Fluid::begin(uint32_t message) {
    const Leg &leg = traffic_.legs[message];
    if (leg.group == inside_node)
        delay(message, inside_[leg.size]);
    else if (latencies_ == 1)
        delay(message, route_latency_[leg.size]);
    else
        delay(message, route_latency_[leg.size * latencies_ + traffic_.groups[leg.group].latency]);
}

void Fluid::delay(uint32_t message, uint32_t queue) {
    delays_[queue].push(now_ + delay_s_[queue], message);
}

/** The latency of its route is over: it begins to move. */
void Fluid::activate(uint32_t message) {
    const uint32_t group = traffic_.legs[message].group;
    const uint32_t size = traffic_.legs[message].size;
    Transfer &transfer = transfers_[group];
    if (shares_.flows(group) == 0) {
        transfer.moved = 0;
        transfer.updated = now_;
    }
    const double moved = transfer.moved + shares_.rate(group) * (now_ - transfer.updated);
    transfer.ends.push(moved + costs_[size].work, message);
    if (transfer.ends.which() == message && shares_.rate(group) > 0)
        schedule_end(group); // it overtakes, and the rate may well stay as it is
    ++moving_[size];
    shares_.add_flow(group);
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

/** Every flow of the group that is through by now. */
void Fluid::end_transfers(uint32_t group) {
    Transfer &transfer = transfers_[group];
    const double moved = transfer.moved + shares_.rate(group) * (now_ - transfer.updated);
    do {
        const uint32_t message = transfer.ends.which();
        transfer.ends.pop();
        --moving_[traffic_.legs[message].size];
        shares_.remove_flow(group);
        deliver(message);
    } while (transfer.ends.time() <= moved * (1 + 1e-12));
    mark_dirty();
    schedule_end(group);
}

/** When the first flow of the group ends if rates stay as they are. */
void Fluid::schedule_end(uint32_t group) {
    const Transfer &transfer = transfers_[group];
    const double rate = shares_.rate(group);
    if (transfer.ends.empty() || rate <= 0)
        ends_.set(group, never);
    else
        ends_.set(group, std::max(now_, transfer.updated + (transfer.ends.time() - transfer.moved) / rate));
}

void Fluid::deliver(uint32_t message) {
    const Leg &leg = traffic_.legs[message];
    uint8_t &state = state_[message];
    state |= arrived;
    if (state & expected)
        signal(leg.receiver_next);
    if (!costs_[leg.size].detached)
        signal(leg.sender_next);
}

/** Rates change at the last event that changed the flows. A group that was idle before is given what it would
 * have moved since its first flow began. */
void Fluid::solve() {
    ++solves_;
    now_ = last_change_;
    deadline_ = never;
    const auto groups = shares_.solve();
    const double mean_change = first_change_ + changes_after_first_s_ / changes_;
    const bool many = groups.size() * 4 > ends_.size();
    double throughput = 0;
    double flows = 0;
    for (const uint32_t group : groups) {
        Transfer &transfer = transfers_[group];
        const double before = shares_.rate(group);
        const double after = shares_.new_rate(group);
        throughput += after * shares_.flows(group);
        flows += shares_.flows(group);
        if (before == after)
            continue;
        const double changed = before > 0 ? std::max(transfer.updated, mean_change) : transfer.updated;
        transfer.moved += before * (changed - transfer.updated) + after * (now_ - changed);
        transfer.updated = now_;
        shares_.accept(group);
        const double ends = std::max(now_, now_ + (transfer.ends.time() - transfer.moved) / after);
        if (many)
            ends_.put(group, ends);
        else
            ends_.set(group, ends);
    }
    if (many)
        ends_.rebuild();
    if (tolerance_ > 0 && throughput > 0)
        window_ = std::max(together_s, coarseness() * tolerance_ * mean_work() * flows / throughput);
}

/** Where rates are worked out very often, it is done for more changes at a time. */
double Fluid::coarseness() const {
    return 1 + coarsest_step * std::min(1.0, static_cast<double>(solves_ - solves_before_) / many_solves);
}

/** What a message on links has to move, on average: a few small ones between large ones don't ask for more
 * care.
 */
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
