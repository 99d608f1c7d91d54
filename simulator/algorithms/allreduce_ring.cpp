#include "algorithms/allreduce.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>
#include <array>

namespace offbeat::algorithms::allreduce {

namespace {

/** An allgather in which rank r starts with block r + first. */
void gather_in_steps(Rank &rank, const Blocks &blocks, int first = 0) {
    for (int step = 0; step < rank.p - 1; ++step)
        rank.sendrecv(neighbour(rank, 1), blocks.block(rank.output(), neighbour(rank, first - step)),
                      neighbour(rank, -1), blocks.block(rank.output(), neighbour(rank, first - step - 1)));
}

/** Open MPI's segmented ring: each phase reduces one segment of every block. */
void ring_in_phases(Rank &rank, int64_t phases) {
    copy_input_to_output(rank);
    if (rank.p == 1)
        return;
    const Blocks blocks = Blocks::even(rank.call.count, rank.p);
    const int64_t longest = Blocks::even(blocks.length(0), phases).length(0);
    const std::array<Span, 2> incoming = {rank.scratch(longest), rank.scratch(longest)};
    for (int64_t phase = 0; phase < phases; ++phase)
        reduce_along_ring(
            rank,
            [&](int number) {
                const Span block = blocks.block(rank.output(), number);
                return Blocks::even(block.length, phases).block(block, phase);
            },
            incoming);
    gather_in_steps(rank, blocks, 1);
}

/** The number of whole segments in a block, plus one for a remainder of more than half a segment; 0 if a
 * block is shorter than a segment. */
int64_t phases_of_ring(const Call &call, int64_t segment_bytes) {
    const int64_t round = call.p * openmpi_segment(call, segment_bytes, call.count);
    if (call.count < round || round == 0)
        return 0;
    const int64_t remainder = call.count % round;
    return call.count / round + (remainder >= call.p && remainder > round / 2 ? 1 : 0);
}

/** A reduce-scatter with one block per step; rank r ends with the result of block r. */
void reduce_in_steps(Rank &rank, const Blocks &blocks) {
    const Span incoming = rank.scratch(blocks.offset(blocks.blocks()));
    for (int step = 1; step < rank.p; ++step) {
        const Span own_block = blocks.block(rank.output(), neighbour(rank, -step - 1));
        const Span into = incoming.part(0, own_block.length);
        rank.sendrecv(neighbour(rank, 1), blocks.block(rank.output(), neighbour(rank, -step)),
                      neighbour(rank, -1), into);
        reduce_some(rank, own_block, into);
    }
}

/** The position of MPICH's chunked allgather on its way along the ring. */
struct Progress {
    int number;
    int64_t offset;
    int64_t remaining; /**< elements to send or receive in all */

    /** The length of the next chunk: a part of one block, at most `chunk` elements. */
    [[nodiscard]] int64_t next(const Blocks &blocks, int64_t chunk) const {
        return remaining == 0 ? 0 : std::min(chunk, blocks.length(number) - offset);
    }
    Span take(const Blocks &blocks, const Span &all, int64_t elements) {
        const Span piece = blocks.block(all, number).part(offset, elements);
        remaining -= elements;
        offset += elements;
        if (offset == blocks.length(number)) {
            offset = 0;
            number = number == 0 ? static_cast<int>(blocks.blocks()) - 1 : number - 1;
        }
        return piece;
    }
};

/** The default of MPICH's MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE. */
constexpr int64_t mpich_allgatherv_chunk_bytes = 32768;

/** gather_in_steps() in chunks of 32 KiB, or of the shortest block if that is longer, without empty blocks.
 * For Blocks::rounded_up, whose last block is the shortest. */
void gather_in_chunks(Rank &rank, const Blocks &blocks) {
    const int64_t all = rank.call.count;
    const int right = neighbour(rank, 1);
    const int left = neighbour(rank, -1);
    const int64_t chunk =
        std::max(blocks.length(rank.p - 1), elements_within(rank.call, mpich_allgatherv_chunk_bytes));
    Progress sent{rank.id, 0, all - blocks.length(right)};
    Progress received{left, 0, all - blocks.length(rank.id)};
    while (sent.remaining > 0 || received.remaining > 0) {
        const int64_t out = sent.next(blocks, chunk);
        const int64_t in = received.next(blocks, chunk);
        const Span from = sent.take(blocks, rank.output(), out);
        const Span into = received.take(blocks, rank.output(), in);
        if (out > 0 && in > 0)
            rank.sendrecv(right, from, left, into);
        else if (out > 0)
            rank.send(right, from);
        else if (in > 0)
            rank.recv(left, into);
    }
}

} // namespace

/** Open MPI's ompi_coll_base_allreduce_intra_ring.
 * Rounds: 2 * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void openmpi_ring(Rank &rank) {
    if (rank.call.count < rank.p)
        recursive_doubling(rank);
    else
        ring_in_phases(rank, 1);
}

/** Open MPI's ompi_coll_base_allreduce_intra_ring_segmented.
 * Rounds: (max(q / p, 1) + 1) * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void openmpi_segmented_ring(Rank &rank, const Parameters &parameters) {
    const int64_t phases = phases_of_ring(rank.call, parameters["segment"]);
    if (phases == 0)
        openmpi_ring(rank);
    else
        ring_in_phases(rank, phases);
}

/** SimGrid's allreduce__ompi_ring_segmented, with one segment in a block up to 1 MiB.
 * Rounds: 2 * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void simgrid_segmented_ring(Rank &rank) {
    constexpr int64_t segment_bytes = int64_t{1} << 20; // segsize in allreduce-ompi-ring-segmented.cpp
    const int64_t phases = phases_of_ring(rank.call, segment_bytes);
    if (phases == 0 && rank.p > 1)
        simgrid_ring(rank);
    else
        ring_in_phases(rank, std::max<int64_t>(phases, 1));
}

void ring_in_place(Rank &rank, const Blocks &blocks) {
    reduce_in_steps(rank, blocks);
    gather_in_steps(rank, blocks);
}

/** SimGrid's allreduce__lr.
 * Rounds: 2 * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void simgrid_ring(Rank &rank) {
    const int64_t length = rank.call.count / rank.p;
    if (length == 0)
        return reduce_then_bcast(rank);
    copy_some(rank, rank.output().part(0, length * rank.p), rank.input().part(0, length * rank.p));
    ring_in_place(rank, Blocks::equal(length, rank.p));
    const int64_t in_blocks = length * rank.p;
    if (in_blocks < rank.call.count)
        reduce_then_bcast_part(rank, rank.input().part(in_blocks, rank.call.count - in_blocks),
                               rank.output().part(in_blocks, rank.call.count - in_blocks));
}

/** MPICH's MPIR_Allreduce_intra_ring.
 * Rounds: 2 * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void mpich_ring(Rank &rank) {
    if (!rank.call.commutative)
        return mpich_choice(rank, false);
    copy_input_to_output(rank);
    const Blocks blocks = Blocks::rounded_up(rank.call.count, rank.p);
    reduce_in_steps(rank, blocks);
    gather_in_chunks(rank, blocks);
}

/** MPICH's MPIR_TSP_Iallreduce_sched_intra_ring.
 * Rounds: 2 * (p - 1). Bytes: 2 * m * (p - 1) / p. */
void mpich_task_ring(Rank &rank) {
    if (!rank.call.commutative)
        return mpich_choice(rank, true);
    copy_input_to_output(rank);
    const Blocks blocks = Blocks::rounded_up(rank.call.count, rank.p);
    const Span incoming = rank.scratch(rank.call.count);
    Tasks tasks(rank);
    Tasks::After before;
    for (int step = 1; step < rank.p; ++step) {
        const Span own_block = blocks.block(rank.output(), neighbour(rank, -step - 1));
        const Span into = incoming.part(0, own_block.length);
        const auto received = tasks.irecv(neighbour(rank, -1), into, before, step);
        tasks.isend(neighbour(rank, 1), blocks.block(rank.output(), neighbour(rank, -step)), before, step);
        before = {tasks.reduce(own_block, into, Order::from_first, {received})};
    }
    tasks.fence();
    gather_blocks_along_ring(rank, tasks, blocks, rank.p);
    tasks.fence();
}

} // namespace offbeat::algorithms::allreduce
