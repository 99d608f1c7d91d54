#include "schedule/execution.hpp"

#include <algorithm>
#include <deque>

namespace offbeat::schedule {

namespace {

class DeadlockAnalysis {
  public:
    DeadlockAnalysis(const CallGraph &graph, const std::vector<uint32_t> &partner,
                     const std::vector<uint32_t> &needs, const std::vector<uint8_t> &posted)
        : graph_(graph), partner_(partner), needs_(needs), posted_(posted) {
    }

    [[nodiscard]] std::string explain() const {
        std::vector<uint32_t> ranks;
        std::vector<Request> requests;
        auto rank = first_blocked_rank();
        Vertex vertex = exit_of(rank);
        while (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
            const Request request = blocking_request(rank, vertex);
            ranks.push_back(rank);
            requests.push_back(request);
            // the message has a match but was not transferred: the peer has not posted its end
            const uint32_t other = partner_[graph_.first_operation[rank] + request];
            rank = static_cast<uint32_t>(graph_.programs[rank].operations[request].peer);
            vertex = graph_.programs[rank].operations[other - graph_.first_operation[rank]].vertex;
        }
        const auto start = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
        return sentence(std::span(ranks).subspan(static_cast<size_t>(start)),
                        std::span(requests).subspan(static_cast<size_t>(start)));
    }

  private:
    [[nodiscard]] Vertex exit_of(uint32_t rank) const {
        return static_cast<Vertex>(graph_.programs[rank].vertices.size() - 1);
    }

    [[nodiscard]] bool fired(uint32_t rank, Vertex vertex) const {
        return needs_[graph_.first_vertex[rank] + vertex] == 0;
    }

    [[nodiscard]] uint32_t first_blocked_rank() const {
        uint32_t rank = 0;
        while (fired(rank, exit_of(rank)))
            ++rank;
        return rank;
    }

    [[nodiscard]] bool is_complete(uint32_t rank, Request request) const {
        const uint32_t number = graph_.first_operation[rank] + request;
        return posted_[number] != 0 && posted_[partner_[number]] != 0;
    }

    /** The posted, incomplete message that prevents a vertex from firing. */
    [[nodiscard]] Request blocking_request(uint32_t rank, Vertex vertex) const {
        const Program &program = graph_.programs[rank];
        for (;;) {
            const Vertex earlier = unfired_dependency(rank, vertex);
            if (earlier == none)
                break;
            vertex = earlier;
        }
        const VertexDependencies &needs = program.vertices[vertex];
        for (const Request request : program.requests_of(needs))
            if (!is_complete(rank, request))
                return request;
        for (Request request = 0; needs.queue != none && request < program.operations.size(); ++request)
            if (program.operations[request].queue == needs.queue &&
                fired(rank, program.operations[request].vertex) && !is_complete(rank, request))
                return request;
        throw CheckFailure{"rank " + std::to_string(rank) +
                           " waits for a completion queue that has no requests left"};
    }

    [[nodiscard]] Vertex unfired_dependency(uint32_t rank, Vertex vertex) const {
        const Program &program = graph_.programs[rank];
        const VertexDependencies &needs = program.vertices[vertex];
        for (const Vertex earlier : program.vertices_of(needs))
            if (!fired(rank, earlier))
                return earlier;
        for (const Request request : program.requests_of(needs)) {
            if (const Vertex earlier = program.operations[request].vertex; !fired(rank, earlier))
                return earlier;
        }
        return none;
    }

    [[nodiscard]] std::string sentence(std::span<const uint32_t> ranks,
                                       std::span<const Request> requests) const {
        std::string text = "deadlock: ";
        bool sends = false;
        for (size_t i = 0; i < ranks.size(); ++i) {
            const Operation &operation = graph_.programs[ranks[i]].operations[requests[i]];
            sends = sends || is_send(operation);
            if (i > 3 && i + 1 < ranks.size())
                continue;
            if (i > 3)
                text += "... ";
            text += "rank " + std::to_string(ranks[i]) + " waits for " + describe(operation) + ", ";
        }
        text += "which waits for rank " + std::to_string(ranks.front());
        return sends ? text + " (where a send waits for its receive)" : text;
    }

    const CallGraph &graph_;
    const std::vector<uint32_t> &partner_;
    const std::vector<uint32_t> &needs_;
    const std::vector<uint8_t> &posted_;
};

struct RankVertex {
    uint32_t rank;
    Vertex vertex;
};

/** Vertices whose dependencies are complete. */
class ReadyVertices {
  public:
    explicit ReadyVertices(FiringOrder order) : order_(order) {
    }
    void add(RankVertex location) {
        places_.push_back(location);
    }
    [[nodiscard]] bool empty() const {
        return places_.empty();
    }
    RankVertex pop() {
        if (order_ == FiringOrder::oldest) {
            const RankVertex first = places_.front();
            places_.pop_front();
            return first;
        }
        if (order_ == FiringOrder::pseudorandom) {
            state_ = state_ * 6364136223846793005U + 1442695040888963407U;
            std::swap(places_[(state_ >> 33) % places_.size()], places_.back());
        }
        const RankVertex last = places_.back();
        places_.pop_back();
        return last;
    }

  private:
    FiringOrder order_;
    std::deque<RankVertex> places_;
    uint64_t state_ = 1;
};

/** A completion queue of one rank. */
struct Queue {
    std::vector<Request> requests;
    std::vector<Request> complete;
    std::vector<Vertex> pops;
};

class Executor {
  public:
    Executor(const CallGraph &graph, const std::vector<uint32_t> &partner, FiringOrder order, RankSets *sets)
        : graph_(graph), partner_(partner), ready_(order), sets_(sets) {
        needs_.resize(graph.first_vertex.back());
        posted_.resize(graph.first_operation.back());
        result_.depth.resize(graph.first_vertex.back());
        result_.order.reserve(graph.first_operation.back());
        if (sets_ != nullptr)
            depends_on_.resize(graph.first_vertex.back(), no_ranks);
        for (uint32_t rank = 0; rank < graph.programs.size(); ++rank)
            prepare(rank);
    }

    Execution run() {
        for (uint32_t rank = 0; rank < graph_.programs.size(); ++rank)
            ready_.add({rank, 0});
        while (!ready_.empty())
            fire(ready_.pop());
        if (fired_ < graph_.first_vertex.back())
            throw CheckFailure{DeadlockAnalysis(graph_, partner_, needs_, posted_).explain()};
        for (uint32_t rank = 0; sets_ != nullptr && rank < graph_.programs.size(); ++rank)
            result_.exit_depends_on.push_back(depends_on_[graph_.first_vertex[rank + 1] - 1]);
        return std::move(result_);
    }

  private:
    void prepare(uint32_t rank) {
        const Program &program = graph_.programs[rank];
        for (Vertex vertex = 0; vertex < program.vertices.size(); ++vertex) {
            const VertexDependencies &needs = program.vertices[vertex];
            needs_[graph_.first_vertex[rank] + vertex] =
                needs.requests + needs.vertices + (needs.queue == none ? 0 : 1);
        }
        first_queue_.push_back(static_cast<uint32_t>(queues_.size()));
        if (program.queues == 0)
            return;
        queues_.resize(queues_.size() + program.queues);
        for (Request request = 0; request < program.operations.size(); ++request)
            if (const CompletionQueue queue = program.operations[request].queue; queue != none)
                queues_[first_queue_.back() + queue].requests.push_back(request);
        for (Vertex vertex = 0; vertex < program.vertices.size(); ++vertex)
            if (const CompletionQueue queue = program.vertices[vertex].queue; queue != none)
                queues_[first_queue_.back() + queue].pops.push_back(vertex);
    }

    void fire(RankVertex location) {
        ++fired_;
        const Program &program = graph_.programs[location.rank];
        const uint32_t vertex = graph_.first_vertex[location.rank] + location.vertex;
        if (sets_ != nullptr && location.vertex == 0)
            depends_on_[vertex] = sets_->single(static_cast<int>(location.rank));
        for (const uint32_t i : graph_.operations_of.of(vertex)) {
            const uint32_t number = graph_.first_operation[location.rank] + i;
            if (!is_message(program.operations[i]))
                result_.order.push_back(number);
            else
                post(location, program.operations[i], number);
        }
        for (const Vertex follower : graph_.followers_of.of(vertex)) {
            add_dependency(location.rank, follower, result_.depth[vertex], vertex);
            count_down(location.rank, follower);
        }
    }

    void post(RankVertex location, const Operation &operation, uint32_t number) {
        posted_[number] = 1;
        if (posted_[partner_[number]] == 0)
            return;
        const auto peer = static_cast<uint32_t>(operation.peer);
        const uint32_t own_vertex = graph_.first_vertex[location.rank] + location.vertex;
        const uint32_t peer_vertex =
            graph_.first_vertex[peer] +
            graph_.programs[peer].operations[partner_[number] - graph_.first_operation[peer]].vertex;
        const uint32_t depth = std::max(result_.depth[own_vertex], result_.depth[peer_vertex]) + 1;
        result_.order.push_back(is_send(operation) ? number : partner_[number]);
        complete(location.rank, number, depth, own_vertex, peer_vertex);
        complete(peer, partner_[number], depth, peer_vertex, own_vertex);
    }

    void complete(uint32_t rank, uint32_t number, uint32_t depth, uint32_t own_vertex, uint32_t peer_vertex) {
        const Request request = number - graph_.first_operation[rank];
        const Operation &operation = graph_.programs[rank].operations[request];
        // a standard send may complete long before its receive is posted
        const bool depends_on_peer =
            operation.kind == Kind::synchronous_send || operation.kind == Kind::receive;
        for (const Vertex vertex : graph_.waiters_of.of(number)) {
            add_dependency(rank, vertex, depth, own_vertex);
            if (depends_on_peer)
                add_dependency(rank, vertex, depth, peer_vertex);
            count_down(rank, vertex);
        }
        if (operation.queue == none)
            return;
        Queue &queue = queues_[first_queue_[rank] + operation.queue];
        const size_t k = queue.complete.size();
        queue.complete.push_back(request);
        const Vertex vertex = queue.pops[k];
        result_.popped[graph_.first_vertex[rank] + vertex] = {queue.requests[k], request};
        result_.popped_by[number] = vertex;
        add_dependency(rank, vertex, depth, own_vertex);
        if (depends_on_peer)
            add_dependency(rank, vertex, depth, peer_vertex);
        count_down(rank, vertex);
    }

    /** A vertex depends on `depth` messages and on everything that another vertex (of any rank) depends on.
     */
    void add_dependency(uint32_t rank, Vertex vertex, uint32_t depth, uint32_t from) {
        const uint32_t number = graph_.first_vertex[rank] + vertex;
        result_.depth[number] = std::max(result_.depth[number], depth);
        if (sets_ != nullptr)
            depends_on_[number] = sets_->unite(depends_on_[number], depends_on_[from]);
    }

    void count_down(uint32_t rank, Vertex vertex) {
        if (--needs_[graph_.first_vertex[rank] + vertex] == 0)
            ready_.add({rank, vertex});
    }

    const CallGraph &graph_;
    const std::vector<uint32_t> &partner_;
    ReadyVertices ready_;
    RankSets *sets_;
    std::vector<uint32_t> needs_; /**< per vertex of all ranks: number of incomplete dependencies */
    std::vector<uint8_t> posted_; /**< per operation of all ranks */
    std::vector<RankSet> depends_on_;
    std::vector<Queue> queues_;
    std::vector<uint32_t> first_queue_; /**< of each rank */
    size_t fired_ = 0;
    Execution result_;
};

} // namespace

Execution execute(const CallGraph &graph, const std::vector<uint32_t> &partner, FiringOrder order,
                  RankSets *sets) {
    return Executor(graph, partner, order, sets).run();
}

} // namespace offbeat::schedule
