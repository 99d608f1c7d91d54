#include "evaluate/fluid.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

namespace offbeat::evaluate {

using schedule::Graph;
using schedule::Target;

namespace {

/** Mark posts, and the work of ranks, among the entries of waiting_for_rank_. */
constexpr uint32_t post_bit = 1U << 31U;
constexpr uint32_t work_bit = 1U << 30U;

/** The bits of a message's state. The sender is ahead of the receiver with a delivered message of the eager
 * protocol, or with a posted send of another. */
constexpr uint8_t receive_posted = 1;
constexpr uint8_t sender_ahead = 2;

bool later(const TimedEntry &a, const TimedEntry &b) {
    return a.time > b.time;
}

} // namespace

Fluid::Fluid(const Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
             std::span<const SizeCosts> costs, double bytes_per_element, Course *course, NodeMemory *memory)
    : graph_(graph), traffic_(traffic), message_costs_(message_costs), costs_(costs),
      bytes_per_element_(bytes_per_element),
      posts_or_work_take_time_(message_costs.send_overhead_s > 0 || !graph.work.empty()), course_(course),
      memory_(memory), message_state_(graph.messages.size()), completions_(graph.queues()),
      busy_until_s_(static_cast<size_t>(graph.p)), ranks_by_arrival_(static_cast<size_t>(graph.p)),
      links_(traffic, costs) {
    create_delay_queues();
    if (course_ != nullptr)
        begin_program();
    else
        exit_ = graph.exit;
}

/** All ranks begin their first step at 0. */
void Fluid::begin_program() {
    reset();
    arrival_count_ = ranks_by_arrival_.size();
    exit_.resize(ranks_by_arrival_.size());
    further_ahead_.resize(graph_.messages.size());
    first_queue_.resize(graph_.entry.size() + 1);
    for (size_t queue = 0; queue < graph_.queues(); ++queue) {
        const uint32_t vertex = graph_.pops[graph_.first_pop[queue]];
        const auto next_segment = std::ranges::upper_bound(graph_.entry, vertex);
        ++first_queue_[static_cast<size_t>(next_segment - graph_.entry.begin())];
    }
    std::partial_sum(first_queue_.begin(), first_queue_.end(), first_queue_.begin());
    for (uint32_t rank = 0; rank < ranks_by_arrival_.size(); ++rank)
        leave(rank);
    fire_ready();
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
    const auto shares_memory = [&](size_t size) {
        return memory_ != nullptr && memory_->class_of_size[size] != no_class;
    };
    intra_node_queue_.resize(costs_.size());
    for (size_t size = 0; size < costs_.size(); ++size)
        if (!shares_memory(size))
            intra_node_queue_[size] =
                queue_of(costs_[size].inside_latency_s + costs_[size].inside_transfer_s, 0);
    first_latency_queue_ = delay_s_.size();
    for (size_t size = 0; size < costs_.size(); ++size)
        if (shares_memory(size))
            intra_node_queue_[size] = queue_of(costs_[size].inside_latency_s, first_latency_queue_);
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
    move_origin(0);
    ready_vertices_.clear();
    waiting_for_rank_.clear();
    for (OrderedQueue &queue : delay_queues_)
        queue.clear();
    links_.reset();
    arrival_count_ = exit_count_ = 0;
}

void Fluid::run(std::span<const double> arrivals_s, std::span<double> exits_s) {
    reset();
    arrivals_s_ = arrivals_s;
    exits_s_ = exits_s;
    std::iota(ranks_by_arrival_.begin(), ranks_by_arrival_.end(), 0);
    std::ranges::stable_sort(ranks_by_arrival_, {}, [&](uint32_t rank) { return arrivals_s[rank]; });
    while (process_next_event()) {
    }
    check_exits();
}

bool Fluid::proceed(uint64_t events) {
    for (const uint64_t end = events_ + events; events_ < end; ++events_) {
        if (!process_next_event()) {
            check_exits();
            return false;
        }
    }
    return true;
}

void Fluid::check_exits() const {
    if (exit_count_ != static_cast<size_t>(graph_.p))
        throw std::logic_error("only " + std::to_string(exit_count_) + " of " + std::to_string(graph_.p) +
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

/** Begins to count times from here. Nothing may be in progress: the ranks that were busy are free. The
 * simulation of a call thus depends on differences between arrivals only, and times are as exact after a wait
 * of an hour as they are at the beginning. */
[[gnu::noinline]] void Fluid::move_origin(double to_s) {
    origin_s_ = to_s;
    for (const uint32_t rank : busy_ranks_)
        busy_until_s_[rank] = 0;
    busy_ranks_.clear();
}

/** Processes the earliest event; false if there is none. Everything is inlined, as events are so short that
 * function calls would dominate. */
[[gnu::flatten]] bool Fluid::process_next_event() {
    size_t queue = 0;
    const double delay_end_s = next_delay(queue);
    const double flow_end_s = links_.first_end_s();
    const double work_end_s = memory_ != nullptr ? memory_->domains.first_end_s() : never;
    double arrives = arrival_count_ < ranks_by_arrival_.size()
                         ? arrivals_s_[ranks_by_arrival_[arrival_count_]] - origin_s_
                         : never;
    const double rank_free_s = waiting_for_rank_.empty() ? never : waiting_for_rank_.front().time;
    const double in_progress = std::min({delay_end_s, flow_end_s, work_end_s, rank_free_s});
    double next = std::min(in_progress, arrives);
    if (fires_before(next)) {
        fire_in_order();
        return true;
    }
    if (next > links_.solve_at_s()) {
        links_.solve();
        return true;
    }
    if (next == never)
        return false;
    const bool is_idle = in_progress == never && links_.solve_at_s() == never && ready_vertices_.empty();
    if (is_idle && arrives > 0) {
        move_origin(arrivals_s_[ranks_by_arrival_[arrival_count_]]);
        next = arrives = 0;
    }
    now_s_ = next;
    const bool is_first = ready_vertices_.empty();
    if (next == delay_end_s) {
        process_delayed(queue);
    } else if (next == work_end_s) {
        process_memory();
    } else if (next == flow_end_s) {
        links_.end_due(now_s_, [&](uint32_t message) { deliver(message); });
    } else if (next == arrives) {
        ready_vertices_.push_back(graph_.entry[ranks_by_arrival_[arrival_count_++]]);
    } else {
        process_waiting();
    }
    if (!posts_or_work_take_time_)
        fire_ready();
    else if (is_first && !ready_vertices_.empty())
        first_ready_s_ = now_s_;
    return true;
}

/** Whether vertices are ready that fire before the next event. */
bool Fluid::fires_before(double next_s) const {
    return !ready_vertices_.empty() && next_s > end_of_event(first_ready_s_);
}

/** Fires the vertices that became ready in one event. A rank that is busy with one of them makes its others
 * wait: the program decides their order, not the last digits of times. */
[[gnu::noinline]] void Fluid::fire_in_order() {
    std::ranges::sort(ready_vertices_, std::greater{});
    fire_ready();
}

/** Ends all work and all messages inside nodes that are complete by now. */
[[gnu::noinline]] void Fluid::process_memory() {
    memory_->domains.end_due(now_s_, [&](uint32_t flow_class, uint32_t id) {
        if (memory_->domains.flow_class(flow_class).is_message)
            deliver(id);
        else
            leave(id);
    });
}

/** A rank has become free for the first of the vertices, posts and work that wait for theirs. */
void Fluid::process_waiting() {
    const uint32_t id = waiting_for_rank_.front().id;
    std::ranges::pop_heap(waiting_for_rank_, later);
    waiting_for_rank_.pop_back();
    if (id & post_bit)
        post(graph_.posts[id & ~post_bit]);
    else if (id & work_bit)
        begin_traffic(id & ~work_bit);
    else
        start_vertex(id);
}

/** Processes all messages of a queue that are due in this event. */
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
    } while (due.first_time() <= end_of_event(now_s_));
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
    if (busy_until == 0)
        busy_ranks_.push_back(graph_.rank[vertex]);
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
    if (first == last && first_next == last_next && exit_[graph_.rank[vertex]] == vertex)
        leave(graph_.rank[vertex]);
}

/** A rank leaves its segment or has done its work: it is done, or begins its next step. */
void Fluid::leave(uint32_t rank) {
    if (course_ != nullptr) {
        begin_next_step(rank);
    } else {
        exits_s_[rank] = exit_s(arrivals_s_[rank], origin_s_, now_s_);
        ++exit_count_;
    }
}

[[gnu::noinline]] void Fluid::begin_next_step(uint32_t rank) {
    const schedule::Step *const step = course_->next_step(rank, now_s_);
    if (step == nullptr) {
        ++exit_count_;
    } else if (step->synchronises) {
        synchronise();
    } else if (step->segment == schedule::no_segment) {
        begin_work(rank);
    } else {
        enter(rank, step->segment);
    }
}

/** A rank waits for all others. The last one lets all of them continue; it costs no time. */
void Fluid::synchronise() {
    if (++waiting_for_all_ < ranks_by_arrival_.size())
        return;
    waiting_for_all_ = 0;
    course_->log_synchronisation(now_s_);
    for (uint32_t rank = 0; rank < ranks_by_arrival_.size(); ++rank)
        begin_next_step(rank);
}

void Fluid::enter(uint32_t rank, uint32_t segment) {
    const size_t index = static_cast<size_t>(segment) * ranks_by_arrival_.size() + rank;
    for (size_t vertex = graph_.entry[index]; vertex < graph_.vertices_end(index); ++vertex)
        pending_dependencies_[vertex] = graph_.needs[vertex];
    for (size_t queue = first_queue_[index]; queue < first_queue_[index + 1]; ++queue)
        completions_[queue] = 0;
    exit_[rank] = graph_.exit[index];
    ready_vertices_.push_back(graph_.entry[index]);
}

void Fluid::begin_work(uint32_t rank) {
    const double free_s = std::max(now_s_, busy_until_s_[rank]) + course_->seconds_before_traffic(rank);
    if (free_s > now_s_ || course_->work(rank).bytes[rank] <= 0)
        wait_for_rank(free_s, rank | work_bit);
    else
        begin_traffic(rank);
}

[[gnu::noinline]] void Fluid::begin_traffic(uint32_t rank) {
    const schedule::Work &work = course_->work(rank);
    if (work.bytes[rank] > 0)
        memory_->domains.start(memory_->domain_of_rank[rank], work.flow_class[rank], work.bytes[rank], rank,
                               now_s_);
    else
        leave(rank);
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
    if (cost.eager || take_receive(message))
        start_latency(message);
    else
        add_ahead(message);
    if (cost.is_detached)
        complete_send(message);
}

void Fluid::post_receive(uint32_t message) {
    if (!take_ahead(message)) {
        message_state_[message] |= receive_posted;
        return;
    }
    const MessageRoute &route = traffic_.message_routes[message];
    if (costs_[route.size].eager)
        signal(route.receiver_target);
    else
        start_latency(message);
}

/** Whether the receive is posted; it is consumed. */
bool Fluid::take_receive(uint32_t message) {
    uint8_t &state = message_state_[message];
    const bool is_posted = state & receive_posted;
    state &= sender_ahead;
    return is_posted;
}

void Fluid::add_ahead(uint32_t message) {
    uint8_t &state = message_state_[message];
    if (state & sender_ahead)
        ++further_ahead_[message];
    else
        state |= sender_ahead;
}

/** Whether the sender is ahead; it is then ahead by one message less. */
bool Fluid::take_ahead(uint32_t message) {
    uint8_t &state = message_state_[message];
    if (!(state & sender_ahead))
        return false;
    if (further_ahead_.empty() || further_ahead_[message] == 0)
        state &= receive_posted;
    else
        --further_ahead_[message];
    return true;
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
    if (traffic_.message_routes[message].node_pair != intra_node)
        links_.start(message, now_s_);
    else
        start_in_memory(message);
}

[[gnu::noinline]] void Fluid::start_in_memory(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    const uint32_t domain = memory_->domain_of_rank[graph_.messages[message].target];
    memory_->domains.start(domain, memory_->class_of_size[route.size], costs_[route.size].inside_bytes,
                           message, now_s_);
}

void Fluid::deliver(uint32_t message) {
    const MessageRoute &route = traffic_.message_routes[message];
    const SizeCosts &cost = costs_[route.size];
    if (!cost.eager || take_receive(message))
        signal(route.receiver_target);
    else
        add_ahead(message);
    if (!cost.is_detached)
        complete_send(message);
}

void Fluid::complete_send(uint32_t message) {
    if (course_ != nullptr && course_->logs_sends())
        course_->log_send(graph_.messages[message].source, now_s_);
    signal(traffic_.message_routes[message].sender_target);
}

} // namespace offbeat::evaluate
