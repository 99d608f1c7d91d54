#include "algorithms/allreduce.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

#include <vector>

namespace offbeat::algorithms::allreduce {

using namespace schedule;

namespace {

/** The tree from rank 0. Operations that don't commute need the one whose subtrees are runs of ranks. */
Tree tree_of(const Rank &rank, const Parameters &parameters) {
    auto type = static_cast<MpichTree>(parameters["tree_type"]);
    if (!rank.call.commutative)
        type = MpichTree::knomial_1;
    return mpich_tree(type, rank.p, rank.id, 0, static_cast<int>(parameters["k"]));
}

/** MPICH's chunks: the remainder comes first. None without elements. */
std::vector<Span> chunks_of(const Rank &rank, const Span &all, int64_t chunk_bytes) {
    int64_t length = chunk_bytes / rank.call.element_bytes;
    if (length < 1 || length > all.length)
        length = all.length;
    std::vector<Span> chunks;
    for (int64_t from = 0; from < all.length;) {
        const int64_t rest = all.length % length;
        const int64_t elements = from == 0 && rest != 0 ? rest : length;
        chunks.push_back(all.part(from, elements));
        from += elements;
    }
    return chunks;
}

/** Where a chunk of the output is in another buffer as long. */
Span same_place(const Span &buffer, const Span &chunk) {
    return buffer.part(chunk.offset, chunk.length);
}

Order order_of(const Rank &rank) {
    return rank.call.commutative ? Order::from_first : Order::into_first;
}

} // namespace

void mpich_tree(Rank &rank, const Parameters &parameters) {
    copy_in(rank);
    const Tree tree = tree_of(rank, parameters);
    const Span received = rank.scratch(rank.call.count);
    const Span sent = rank.scratch(rank.call.count);
    for (const Span &chunk : chunks_of(rank, rank.output(), parameters["chunk_size"])) {
        for (const int child : tree.children) {
            rank.recv(child, same_place(received, chunk));
            reduce_some(rank, chunk, same_place(received, chunk), order_of(rank));
        }
        if (!tree.is_root()) {
            // MPICH sends from where the result will come, and trusts that it comes later.
            rank.copy(same_place(sent, chunk), chunk);
            rank.isend(tree.parent, same_place(sent, chunk));
            rank.recv(tree.parent, chunk);
        }
        for (const int child : tree.children)
            rank.isend(child, chunk);
    }
    rank.wait_all();
}

void task_tree(Rank &rank, const Parameters &parameters) {
    const Tree tree = tree_of(rank, parameters);
    const bool own_buffers = parameters["buffer_per_child"] != 0;
    std::vector<Span> buffers;
    for (size_t i = 0; i < tree.children.size(); ++i)
        buffers.push_back(own_buffers || i == 0 ? rank.scratch(rank.call.count) : buffers[0]);
    Tasks tasks(rank);
    const Tasks::Task copied = tasks.copy(rank.output(), rank.input());
    int tag = 0;
    for (const Span &chunk : chunks_of(rank, rank.output(), parameters["chunk_size"])) {
        ++tag;
        Tasks::Task last = copied;
        for (size_t i = 0; i < tree.children.size(); ++i) {
            const Span buffer = same_place(buffers[i], chunk);
            const auto received = tasks.irecv(tree.children[i], buffer, {own_buffers ? copied : last}, tag);
            last = tasks.reduce(chunk, buffer, order_of(rank), {last, received});
        }
        if (!tree.is_root())
            tasks.isend(tree.parent, chunk, {last}, tag);
        Tasks::Task here = tasks.sink();
        if (!tree.is_root())
            here = tasks.irecv(tree.parent, chunk, {here}, tag);
        if (!tree.is_leaf())
            tasks.imcast(tree.children, chunk, {here}, tag);
    }
}

} // namespace offbeat::algorithms::allreduce
