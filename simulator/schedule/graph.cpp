#include "schedule/graph.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace offbeat::schedule {

namespace {

bool is_message(Kind kind) {
    return kind != Kind::reduce && kind != Kind::copy;
}

/** Places of a program's operations, joint by joint, each joint's in the order in which they were written. */
std::vector<uint32_t> by_joint(const Program &program) {
    std::vector<uint32_t> order(program.operations.size());
    std::iota(order.begin(), order.end(), 0);
    const auto joint = [&](uint32_t a, uint32_t b) {
        return program.operations[a].joint < program.operations[b].joint;
    };
    if (!std::is_sorted(order.begin(), order.end(), joint))
        std::stable_sort(order.begin(), order.end(), joint);
    return order;
}

template <class T> size_t bytes_of(const std::vector<T> &vector) {
    return vector.capacity() * sizeof(T);
}

} // namespace

size_t Graph::memory_bytes() const {
    return bytes_of(messages) + bytes_of(sizes) + bytes_of(needs) + bytes_of(rank) + bytes_of(first_post) +
           bytes_of(posts) + bytes_of(first_next) + bytes_of(next) + bytes_of(work) + bytes_of(entry) +
           bytes_of(exit) + bytes_of(first_pop) + bytes_of(pops);
}

GraphBuilder::GraphBuilder(int p, bool local_work) : local_work_(local_work) {
    graph_.p = p;
    graph_.first_pop.push_back(0);
}

uint32_t GraphBuilder::size_class(MessageSize size) {
    auto &sizes = graph_.sizes;
    if (last_size_ < sizes.size() && sizes[last_size_] == size)
        return last_size_;
    const auto found = std::ranges::find(sizes, size);
    last_size_ = static_cast<uint32_t>(found - sizes.begin());
    if (found == sizes.end())
        sizes.push_back(size);
    return last_size_;
}

void GraphBuilder::add(const Program &program) {
    if (graph_.entry.size() != static_cast<size_t>(program.rank))
        throw std::logic_error("programs are added in the order of their ranks");
    const std::vector<uint32_t> order = by_joint(program);
    add_joints(program, order);
    add_needs(program);
    add_pops(program);
    graph_.chains = graph_.chains && is_chain(program);
    graph_.entry.push_back(segment_of_.front());
    graph_.exit.push_back(tail_of_.back());
}

/** Joints with their posts and local work; a joint is split where local work follows a post. */
void GraphBuilder::add_joints(const Program &program, const std::vector<uint32_t> &order) {
    const auto self = static_cast<uint32_t>(program.rank);
    const size_t first_receive = receives_.size();
    segment_of_.clear();
    tail_of_.clear();
    const auto open = [&](uint32_t needs) {
        graph_.needs.push_back(needs);
        graph_.rank.push_back(self);
        graph_.first_post.push_back(static_cast<uint32_t>(graph_.posts.size()));
        if (local_work_)
            graph_.work.emplace_back();
    };
    size_t at = 0;
    for (Joint joint = 0; joint < program.joints.size(); ++joint) {
        open(0);
        segment_of_.push_back(static_cast<uint32_t>(graph_.needs.size() - 1));
        for (; at < order.size() && program.operations[order[at]].joint == joint; ++at) {
            const Operation &operation = program.operations[order[at]];
            if (is_message(operation.kind)) {
                const bool receives = operation.kind == Kind::receive;
                const auto peer = static_cast<uint32_t>(operation.peer);
                auto &side = receives ? receives_ : sends_;
                // `next` holds the operation until add_needs() knows who waits for it.
                side.push_back({receives ? peer : self, receives ? self : peer, operation.tag,
                                static_cast<uint32_t>(graph_.posts.size()), order[at],
                                size_class({operation.length, operation.kind == Kind::synchronous_send})});
                graph_.posts.push_back(0);
            } else if (local_work_ && operation.length > 0) {
                if (graph_.posts.size() > graph_.first_post.back())
                    open(1);
                auto &work = graph_.work.back();
                (operation.kind == Kind::reduce ? work.reduced : work.copied) += operation.length;
            }
        }
        tail_of_.push_back(static_cast<uint32_t>(graph_.needs.size() - 1));
    }
    std::stable_sort(receives_.begin() + static_cast<std::ptrdiff_t>(first_receive), receives_.end(),
                     [](const Endpoint &a, const Endpoint &b) { return a.source < b.source; });
}

/** Who waits for what: completions are told to joints, joints to joints. */
void GraphBuilder::add_needs(const Program &program) {
    std::vector<Edge> edges;
    for (size_t j = 0; j < segment_of_.size(); ++j)
        for (uint32_t part = segment_of_[j]; part < tail_of_[j]; ++part)
            edges.push_back({part, part + 1});
    std::vector<Target> told = relay_shared_requests(program);
    const std::vector<uint8_t> relayed = [&] {
        std::vector<uint8_t> flags(told.size());
        std::ranges::transform(told, flags.begin(), [](Target target) { return target != nobody; });
        return flags;
    }();
    for (size_t j = 0; j < program.joints.size(); ++j) {
        const JointNeeds &needs = program.joints[j];
        const uint32_t self = segment_of_[j];
        std::vector<Joint> implied; // joints that the requests follow anyway
        for (uint32_t i = 0; i < needs.requests; ++i) {
            const Request request = program.awaited_requests[needs.first_request + i];
            if (relayed[request])
                edges.push_back({told[request], self});
            else
                told[request] = self;
            ++graph_.needs[self];
            const Joint poster = program.operations[request].joint;
            // Of a split joint, only the last part is surely over when a request of it is.
            if (segment_of_[poster] == tail_of_[poster] && (implied.empty() || implied.back() != poster))
                implied.push_back(poster);
            if (local_work_ && program.operations[request].kind == Kind::receive)
                ++graph_.work[self].received;
        }
        for (uint32_t i = 0; i < needs.joints; ++i) {
            const Joint joint = program.awaited_joints[needs.first_joint + i];
            if (std::find(implied.begin(), implied.end(), joint) != implied.end())
                continue;
            edges.push_back({tail_of_[joint], self});
            ++graph_.needs[self];
        }
        if (needs.queue != none)
            ++graph_.needs[self];
    }
    add_edges(edges);
    tell_endpoints(program, told);
}

/** A request that several joints wait for is told to a joint of its own, which tells them. */
std::vector<Target> GraphBuilder::relay_shared_requests(const Program &program) {
    std::vector<uint8_t> waits(program.operations.size(), 0);
    std::vector<Target> told(program.operations.size(), nobody);
    for (const Request request : program.awaited_requests) {
        if (waits[request] < 2)
            ++waits[request];
        if (waits[request] < 2 || told[request] != nobody)
            continue;
        told[request] = static_cast<Target>(graph_.needs.size());
        graph_.needs.push_back(1);
        graph_.rank.push_back(static_cast<uint32_t>(program.rank));
        graph_.first_post.push_back(static_cast<uint32_t>(graph_.posts.size()));
        if (local_work_)
            graph_.work.emplace_back();
    }
    return told;
}

void GraphBuilder::add_edges(std::vector<Edge> &edges) {
    std::ranges::stable_sort(edges, {}, &Edge::from);
    size_t edge = 0;
    for (auto joint = static_cast<uint32_t>(graph_.first_next.size()); joint < graph_.needs.size(); ++joint) {
        graph_.first_next.push_back(static_cast<uint32_t>(graph_.next.size()));
        for (; edge < edges.size() && edges[edge].from == joint; ++edge)
            graph_.next.push_back(edges[edge].to);
    }
}

/** Until now an endpoint's `next` was the operation that it came from. */
void GraphBuilder::tell_endpoints(const Program &program, const std::vector<Target> &told) {
    const auto queues = static_cast<uint32_t>(graph_.queues());
    const auto self = static_cast<uint32_t>(program.rank);
    const auto tell = [&](Endpoint &endpoint) {
        const Operation &operation = program.operations[endpoint.next];
        endpoint.next =
            operation.queue == none ? told[endpoint.next] : (queue_bit | (queues + operation.queue));
    };
    for (auto it = sends_.rbegin(); it != sends_.rend() && it->source == self; ++it)
        tell(*it);
    for (auto it = receives_.rbegin(); it != receives_.rend() && it->target == self; ++it)
        tell(*it);
}

void GraphBuilder::add_pops(const Program &program) {
    for (CompletionQueue queue = 0; queue < program.queues; ++queue) {
        for (size_t j = 0; j < program.joints.size(); ++j)
            if (program.joints[j].queue == queue)
                graph_.pops.push_back(segment_of_[j]);
        graph_.first_pop.push_back(static_cast<uint32_t>(graph_.pops.size()));
    }
}

bool GraphBuilder::is_chain(const Program &program) {
    for (Joint joint = 1; joint < program.joints.size(); ++joint) {
        const JointNeeds &needs = program.joints[joint];
        if (needs.joints != 1 || program.awaited_joints[needs.first_joint] != joint - 1)
            return false;
    }
    return std::ranges::is_sorted(program.operations, {}, &Operation::joint);
}

/** Sends by target, then source, then in order: the order of the receives. Then pairs within equal source,
 * target, tag. */
void GraphBuilder::match() {
    if (sends_.size() != receives_.size())
        throw std::logic_error(std::to_string(sends_.size()) + " sends, but " +
                               std::to_string(receives_.size()) + " receives");
    std::vector<uint32_t> start(static_cast<size_t>(graph_.p) + 1, 0);
    for (const Endpoint &send : sends_)
        ++start[send.target + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<uint32_t> order(sends_.size());
    for (uint32_t i = 0; i < sends_.size(); ++i)
        order[start[sends_[i].target]++] = i;

    graph_.messages.resize(sends_.size());
    std::vector<uint8_t> taken(receives_.size(), 0);
    size_t run = 0; // first receive that may still be free, of the current pair of ranks
    for (size_t i = 0; i < order.size(); ++i) {
        const Endpoint &send = sends_[order[i]];
        if (i > 0 &&
            (sends_[order[i - 1]].source != send.source || sends_[order[i - 1]].target != send.target))
            run = i;
        while (run < receives_.size() && taken[run])
            ++run;
        size_t j = run;
        const auto same_pair = [&](size_t k) {
            return k < receives_.size() && receives_[k].source == send.source &&
                   receives_[k].target == send.target;
        };
        while (same_pair(j) && (taken[j] || receives_[j].tag != send.tag))
            ++j;
        if (!same_pair(j))
            throw std::logic_error("nobody receives a message from rank " + std::to_string(send.source) +
                                   " to rank " + std::to_string(send.target));
        taken[j] = 1;
        const Endpoint &receive = receives_[j];
        if (graph_.sizes[receive.size].elements != graph_.sizes[send.size].elements)
            throw std::logic_error("a message from rank " + std::to_string(send.source) + " to rank " +
                                   std::to_string(send.target) + " has two lengths");
        const uint32_t message = order[i];
        graph_.messages[message] = {send.source, send.target, send.size, send.next, receive.next};
        graph_.posts[send.post] = message * 2;
        graph_.posts[receive.post] = message * 2 + 1;
    }
}

Graph GraphBuilder::build() {
    if (graph_.entry.size() != static_cast<size_t>(graph_.p))
        throw std::logic_error("a program of some rank is missing");
    graph_.first_post.push_back(static_cast<uint32_t>(graph_.posts.size()));
    graph_.first_next.push_back(static_cast<uint32_t>(graph_.next.size()));
    match();
    return std::move(graph_);
}

} // namespace offbeat::schedule
