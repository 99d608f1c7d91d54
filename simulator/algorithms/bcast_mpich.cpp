#include "algorithms/bcast.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

/** MPICH's chunks: the first one is the short one. */
class Chunks {
  public:
    /** @param chunk_bytes less than an element, or not less than the message: one chunk. */
    Chunks(const Rank &rank, int64_t chunk_bytes)
        : whole_(rank.output()), length_(std::max<int64_t>(0, chunk_bytes) / rank.call.element_bytes),
          first_(whole_.length) {
        if (length_ > 0 && length_ < whole_.length)
            first_ = (whole_.length - 1) % length_ + 1;
    }
    [[nodiscard]] int64_t count() const {
        if (whole_.length == 0)
            return 0;
        return first_ == whole_.length ? 1 : 1 + (whole_.length - first_) / length_;
    }
    [[nodiscard]] Span operator[](int64_t index) const {
        return index == 0 ? whole_.part(0, first_) : whole_.part(first_ + (index - 1) * length_, length_);
    }

  private:
    Span whole_;
    int64_t length_;
    int64_t first_;
};

Tree tree_asked_for(const Rank &rank, const Parameters &parameters) {
    const auto k = std::min<int64_t>(parameters["k"], std::max(rank.p, 2));
    return algorithms::mpich_tree(static_cast<MpichTree>(parameters["tree_type"]), rank.p, rank.id,
                                  rank.call.root, static_cast<int>(k));
}

void pass_on(Rank &rank, const Tree &tree, Span what, bool nonblocking) {
    for (const int child : tree.children) {
        if (nonblocking)
            rank.isend(child, what);
        else
            rank.send(child, what);
    }
}

/** Chunks arrive and go on by themselves, under a tag each; all receives are posted at the start. */
void tree_of_tasks(Rank &rank, const Tree &tree, int64_t chunk_bytes) {
    const Chunks chunks(rank, chunk_bytes);
    Tasks tasks(rank);
    for (int64_t i = 0; i < chunks.count(); ++i) {
        const int tag = static_cast<int>(i);
        Tasks::After arrived;
        if (!tree.is_root())
            arrived.push_back(tasks.irecv(tree.parent, chunks[i], {}, tag));
        if (!tree.is_leaf())
            tasks.imcast(tree.children, chunks[i], arrived, tag);
    }
}

} // namespace

void mpich_binomial(Rank &rank, const Parameters &parameters) {
    if (rank.call.count > 0)
        binomial(rank, parameters);
}

void mpich_nb_binomial(Rank &rank, const Parameters &parameters) {
    binomial_at_once(rank, parameters);
}

void mpich_tree(Rank &rank, const Parameters &parameters) {
    if (rank.call.count == 0)
        return;
    const Tree tree = tree_asked_for(rank, parameters);
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    pass_on(rank, tree, rank.output(), parameters["is_non_blocking"] != 0);
}

void mpich_pipelined_tree(Rank &rank, const Parameters &parameters) {
    const Tree tree = tree_asked_for(rank, parameters);
    const Chunks chunks(rank, parameters["chunk_size"]);
    const bool nonblocking = parameters["is_non_blocking"] != 0;
    const bool all_posted = nonblocking && (chunks.count() <= 3 || parameters["recv_pre_posted"] != 0);
    const int64_t posted = all_posted ? chunks.count() : nonblocking ? 3 : 0;
    std::vector<Request> expected;
    for (int64_t i = 0; !tree.is_root() && i < posted; ++i)
        expected.push_back(rank.irecv(tree.parent, chunks[i]));
    for (int64_t i = 0; i < chunks.count(); ++i) {
        if (!tree.is_root() && i < posted)
            rank.wait(expected[static_cast<size_t>(i)]);
        else if (!tree.is_root())
            rank.recv(tree.parent, chunks[i]);
        pass_on(rank, tree, chunks[i], nonblocking);
    }
}

void mpich_nb_tree(Rank &rank, const Parameters &parameters) {
    tree_of_tasks(rank, tree_asked_for(rank, parameters), parameters["chunk_size"]);
}

void mpich_nb_ring(Rank &rank, const Parameters &parameters) {
    tree_of_tasks(rank, mpich_kary_tree(rank.p, rank.id, rank.call.root, 1), parameters["chunk_size"]);
}

} // namespace offbeat::algorithms::bcast
