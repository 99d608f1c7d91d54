#include "schedule/graph.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace offbeat::schedule {

namespace {

/** Indices of a program's operations by vertex, then in the order in which they were written. */
std::vector<uint32_t> by_vertex(const Program &program) {
    std::vector<uint32_t> order(program.operations.size());
    std::iota(order.begin(), order.end(), 0);
    const auto vertex = [&](uint32_t a, uint32_t b) {
        return program.operations[a].vertex < program.operations[b].vertex;
    };
    if (!std::is_sorted(order.begin(), order.end(), vertex))
        std::stable_sort(order.begin(), order.end(), vertex);
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
    const auto existing = std::ranges::find(sizes, size);
    last_size_ = static_cast<uint32_t>(existing - sizes.begin());
    if (existing == sizes.end())
        sizes.push_back(size);
    return last_size_;
}

void GraphBuilder::add(const Program &program) {
    if (graph_.entry.size() != static_cast<size_t>(program.rank))
        throw std::logic_error("programs are added in the order of their ranks");
    const std::vector<uint32_t> order = by_vertex(program);
    add_vertices(program, order);
    add_needs(program);
    add_pops(program);
    graph_.chains = graph_.chains && is_chain(program);
    graph_.entry.push_back(first_part_.front());
    graph_.exit.push_back(last_part_.back());
}

/** Vertices with their posts and local work; a vertex is split where local work follows a post. */
void GraphBuilder::add_vertices(const Program &program, const std::vector<uint32_t> &order) {
    const auto self = static_cast<uint32_t>(program.rank);
    const size_t first_receive = receives_.size();
    first_part_.clear();
    last_part_.clear();
    const auto add_vertex = [&](uint32_t needs) {
        graph_.needs.push_back(needs);
        graph_.rank.push_back(self);
        graph_.first_post.push_back(static_cast<uint32_t>(graph_.posts.size()));
        if (local_work_)
            graph_.work.emplace_back();
    };
    size_t at = 0;
    for (Vertex vertex = 0; vertex < program.vertices.size(); ++vertex) {
        add_vertex(0);
        first_part_.push_back(static_cast<uint32_t>(graph_.needs.size() - 1));
        for (; at < order.size() && program.operations[order[at]].vertex == vertex; ++at) {
            const Operation &operation = program.operations[order[at]];
            if (is_message(operation)) {
                const bool receives = operation.kind == Kind::receive;
                const auto peer = static_cast<uint32_t>(operation.peer);
                auto &side = receives ? receives_ : sends_;
                // `next` is the operation until add_needs() determines its completion target.
                side.push_back({receives ? peer : self, receives ? self : peer, operation.tag,
                                static_cast<uint32_t>(graph_.posts.size()), order[at],
                                size_class({operation.length, receives ? Kind::send : operation.kind})});
                graph_.posts.push_back(0);
            } else if (local_work_ && operation.length > 0) {
                if (graph_.posts.size() > graph_.first_post.back())
                    add_vertex(1);
                auto &work = graph_.work.back();
                (operation.kind == Kind::reduce ? work.reduced : work.copied) += operation.length;
            }
        }
        last_part_.push_back(static_cast<uint32_t>(graph_.needs.size() - 1));
    }
    std::stable_sort(receives_.begin() + static_cast<std::ptrdiff_t>(first_receive), receives_.end(),
                     [](const Endpoint &a, const Endpoint &b) { return a.source < b.source; });
}

/** The dependencies of vertices on completions and on other vertices. */
void GraphBuilder::add_needs(const Program &program) {
    std::vector<Edge> edges;
    for (size_t j = 0; j < first_part_.size(); ++j)
        for (uint32_t part = first_part_[j]; part < last_part_[j]; ++part)
            edges.push_back({part, part + 1});
    std::vector<Target> targets = relay_shared_requests(program);
    const std::vector<uint8_t> relayed = [&] {
        std::vector<uint8_t> flags(targets.size());
        std::ranges::transform(targets, flags.begin(), [](Target target) { return target != no_target; });
        return flags;
    }();
    for (size_t j = 0; j < program.vertices.size(); ++j) {
        const VertexDependencies &needs = program.vertices[j];
        const uint32_t self = first_part_[j];
        std::vector<Vertex> implied; // vertices that the requests depend on already
        for (const Request request : program.requests_of(needs)) {
            if (relayed[request])
                edges.push_back({targets[request], self});
            else
                targets[request] = self;
            ++graph_.needs[self];
            const Vertex poster = program.operations[request].vertex;
            // A split vertex: only its last part is certain to have fired when one of its requests is
            // complete.
            if (first_part_[poster] == last_part_[poster] && (implied.empty() || implied.back() != poster))
                implied.push_back(poster);
            if (local_work_ && program.operations[request].kind == Kind::receive)
                ++graph_.work[self].received;
        }
        for (const Vertex vertex : program.vertices_of(needs)) {
            if (std::find(implied.begin(), implied.end(), vertex) != implied.end())
                continue;
            edges.push_back({last_part_[vertex], self});
            ++graph_.needs[self];
        }
        if (needs.queue != none)
            ++graph_.needs[self];
    }
    add_edges(edges);
    set_completion_targets(program, targets);
}

/** A request that several vertices wait for gets a vertex of its own, which they depend on. */
std::vector<Target> GraphBuilder::relay_shared_requests(const Program &program) {
    std::vector<uint8_t> waits(program.operations.size(), 0);
    std::vector<Target> targets(program.operations.size(), no_target);
    for (const Request request : program.awaited_requests) {
        if (waits[request] < 2)
            ++waits[request];
        if (waits[request] < 2 || targets[request] != no_target)
            continue;
        targets[request] = static_cast<Target>(graph_.needs.size());
        graph_.needs.push_back(1);
        graph_.rank.push_back(static_cast<uint32_t>(program.rank));
        graph_.first_post.push_back(static_cast<uint32_t>(graph_.posts.size()));
        if (local_work_)
            graph_.work.emplace_back();
    }
    return targets;
}

void GraphBuilder::add_edges(std::vector<Edge> &edges) {
    std::ranges::stable_sort(edges, {}, &Edge::from);
    size_t edge = 0;
    for (auto vertex = static_cast<uint32_t>(graph_.first_next.size()); vertex < graph_.needs.size();
         ++vertex) {
        graph_.first_next.push_back(static_cast<uint32_t>(graph_.next.size()));
        for (; edge < edges.size() && edges[edge].from == vertex; ++edge)
            graph_.next.push_back(edges[edge].to);
    }
}

/** Before this, `next` of an endpoint is the index of its operation. */
void GraphBuilder::set_completion_targets(const Program &program, const std::vector<Target> &targets) {
    const auto queues = static_cast<uint32_t>(graph_.queues());
    const auto self = static_cast<uint32_t>(program.rank);
    const auto set_target = [&](Endpoint &endpoint) {
        const Operation &operation = program.operations[endpoint.next];
        endpoint.next =
            operation.queue == none ? targets[endpoint.next] : (queue_bit | (queues + operation.queue));
    };
    for (auto it = sends_.rbegin(); it != sends_.rend() && it->source == self; ++it)
        set_target(*it);
    for (auto it = receives_.rbegin(); it != receives_.rend() && it->target == self; ++it)
        set_target(*it);
}

void GraphBuilder::add_pops(const Program &program) {
    for (CompletionQueue queue = 0; queue < program.queues; ++queue) {
        for (size_t j = 0; j < program.vertices.size(); ++j)
            if (program.vertices[j].queue == queue)
                graph_.pops.push_back(first_part_[j]);
        graph_.first_pop.push_back(static_cast<uint32_t>(graph_.pops.size()));
    }
}

bool GraphBuilder::is_chain(const Program &program) {
    for (Vertex vertex = 1; vertex < program.vertices.size(); ++vertex) {
        const VertexDependencies &needs = program.vertices[vertex];
        if (needs.vertices != 1 || program.awaited_vertices[needs.first_vertex] != vertex - 1)
            return false;
    }
    return std::ranges::is_sorted(program.operations, {}, &Operation::vertex);
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
    size_t run = 0; // first receive of the current pair of ranks that may be unmatched
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
            throw std::logic_error("no receive for a message from rank " + std::to_string(send.source) +
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

namespace {

/** Adds numbers, each increased by an offset. */
void append_shifted(std::vector<uint32_t> &whole, const std::vector<uint32_t> &part, size_t offset) {
    whole.reserve(whole.size() + part.size());
    for (const uint32_t number : part)
        whole.push_back(number + static_cast<uint32_t>(offset));
}

/** As append_shifted, for offsets of items: the end of the earlier items is the start of the added ones. */
void append_offsets(std::vector<uint32_t> &whole, const std::vector<uint32_t> &part) {
    const uint32_t offset = whole.empty() ? 0 : whole.back();
    if (!whole.empty())
        whole.pop_back();
    append_shifted(whole, part, offset);
}

void check_pops(const Graph &segment) {
    std::vector<uint32_t> completions(segment.queues());
    const auto count = [&](Target target) {
        if (target != no_target && (target & queue_bit) != 0)
            ++completions[target & ~queue_bit];
    };
    for (const Message &message : segment.messages) {
        count(message.sender_target);
        count(message.receiver_target);
    }
    for (size_t queue = 0; queue < segment.queues(); ++queue)
        if (completions[queue] != segment.first_pop[queue + 1] - segment.first_pop[queue])
            throw std::logic_error("a completion queue has completions that no vertex waits for");
}

} // namespace

void append(Graph &whole, const Graph &segment, int64_t element_bytes) {
    if (whole.entry.empty())
        whole.p = segment.p;
    if (whole.p != segment.p)
        throw std::logic_error("segments have different numbers of ranks");
    check_pops(segment);
    const size_t vertices = whole.vertices();
    const size_t messages = whole.messages.size();
    const size_t sizes = whole.sizes.size();
    const size_t queues = whole.queues();
    const auto shifted = [&](Target target) {
        if (target == no_target)
            return target;
        return static_cast<Target>(target + ((target & queue_bit) != 0 ? queues : vertices));
    };
    for (const Message &message : segment.messages)
        whole.messages.push_back({message.source, message.target, message.size + static_cast<uint32_t>(sizes),
                                  shifted(message.sender_target), shifted(message.receiver_target)});
    for (const MessageSize &size : segment.sizes)
        whole.sizes.push_back({size.elements * element_bytes, size.send});
    append_offsets(whole.first_post, segment.first_post);
    append_shifted(whole.posts, segment.posts, 2 * messages);
    append_offsets(whole.first_next, segment.first_next);
    append_shifted(whole.next, segment.next, vertices);
    append_shifted(whole.entry, segment.entry, vertices);
    append_shifted(whole.exit, segment.exit, vertices);
    append_offsets(whole.first_pop, segment.first_pop);
    append_shifted(whole.pops, segment.pops, vertices);
    append_shifted(whole.rank, segment.rank, 0);
    append_shifted(whole.needs, segment.needs, 0);
    for (const LocalWork &work : segment.work)
        whole.work.push_back({work.reduced * element_bytes, work.copied * element_bytes, work.received});
    whole.chains = whole.chains && segment.chains;
}

} // namespace offbeat::schedule
