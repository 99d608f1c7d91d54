#include "algorithms/alltoall.hpp"
#include "algorithms/exchange.hpp"

#include <algorithm>

namespace offbeat::algorithms::alltoall {

namespace {

/** Of p blocks, those whose number in base `k` has `digit` at the position with the value `weight`;
 * consecutive blocks as one piece. */
void blocks_with_digit(std::vector<Span> &pieces, const Span &buffer, int digit, int64_t weight, int64_t k,
                       int p, int64_t length) {
    pieces.clear();
    for (int64_t first = digit * weight; first < p; first += k * weight)
        pieces.push_back(blocks(buffer, first, std::min(weight, p - first), length));
}

/** Copies pieces to the start of a buffer; returns the part that they fill. */
Span pack(Rank &rank, const Span &buffer, const std::vector<Span> &pieces) {
    int64_t filled = 0;
    for (const Span &piece : pieces) {
        copy_some(rank, buffer.part(filled, piece.length), piece);
        filled += piece.length;
    }
    return buffer.part(0, filled);
}

void unpack(Rank &rank, const std::vector<Span> &pieces, const Span &buffer) {
    int64_t copied = 0;
    for (const Span &piece : pieces) {
        copy_some(rank, piece, buffer.part(copied, piece.length));
        copied += piece.length;
    }
}

/** Block i of `into` becomes the block for rank (id + i) mod p. */
void rotate_input(Rank &rank, const Span &into) {
    const int64_t n = rank.call.count;
    const int blocks_to_end = rank.p - rank.id;
    copy_some(rank, blocks(into, 0, blocks_to_end, n), blocks(rank.input(), rank.id, blocks_to_end, n));
    copy_some(rank, blocks(into, blocks_to_end, rank.id, n), blocks(rank.input(), 0, rank.id, n));
}

/** Sorts the output, whose block i came from rank (id - i) mod p, by way of the buffer `reversed`. */
void reverse_output(Rank &rank, const Span &reversed) {
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const int blocks_to_end = rank.p - rank.id - 1;
    copy_some(rank, blocks(reversed, 0, blocks_to_end, n), blocks(output, rank.id + 1, blocks_to_end, n));
    copy_some(rank, blocks(reversed, blocks_to_end, rank.id + 1, n), blocks(output, 0, rank.id + 1, n));
    for (int i = 0; i < rank.p; ++i)
        copy_some(rank, block(output, rank.p - i - 1, n), block(reversed, i, n));
}

/** The number of exchanges in a phase: digits d with d · weight < p. */
int digits_in_use(int64_t weight, int64_t k, int p) {
    return static_cast<int>(std::min<int64_t>(k - 1, (p - 1) / weight));
}

/** k - 1 buffers, each long enough for the blocks of one digit. */
std::vector<Span> buffers_for_digits(Rank &rank, int64_t k) {
    int64_t blocks_of_a_digit = 1;
    while (blocks_of_a_digit * k < rank.p)
        blocks_of_a_digit *= k;
    std::vector<Span> buffers;
    for (int digit = 1; digit <= digits_in_use(1, k, rank.p); ++digit)
        buffers.push_back(rank.scratch(blocks_of_a_digit * rank.call.count));
    return buffers;
}

} // namespace

/** MPICH's MPIR_Alltoall_intra_brucks and MPIR_Ialltoall_intra_sched_brucks, SimGrid's alltoall__bruck,
 * after Bruck et al. (1997, see allgather::bruck).
 * Rounds: ceil(lg(p)). Bytes: m * p / 2 * lg(p). */
void bruck_simgrid(Rank &rank) {
    const int64_t n = rank.call.count;
    const Span packed = rank.scratch(rank.p * n);
    rotate_input(rank, rank.output());
    std::vector<Span> pieces;
    for (int distance = 1; distance < rank.p; distance *= 2) {
        blocks_with_digit(pieces, rank.output(), 1, distance, 2, rank.p, n);
        const Span packed_blocks = pack(rank, packed, pieces);
        const Request received = rank.irecv(neighbour(rank, -distance), pieces);
        rank.wait({received, rank.isend(neighbour(rank, distance), packed_blocks)});
    }
    reverse_output(rank, packed);
}

/** Open MPI's ompi_coll_base_alltoall_intra_bruck.
 * Rounds: ceil(lg(p)). Bytes: m * p / 2 * lg(p). */
void bruck_openmpi(Rank &rank) {
    const int64_t n = rank.call.count;
    const Span moving = rank.scratch(rank.p * n);
    rotate_input(rank, moving);
    std::vector<Span> outgoing;
    std::vector<Span> incoming;
    for (int distance = 1; distance < rank.p; distance *= 2) {
        blocks_with_digit(outgoing, moving, 1, distance, 2, rank.p, n);
        blocks_with_digit(incoming, rank.output(), 1, distance, 2, rank.p, n);
        const Request received = rank.irecv(neighbour(rank, -distance), incoming);
        rank.wait({received, rank.isend(neighbour(rank, distance), outgoing)});
        for (size_t i = 0; i < incoming.size(); ++i)
            copy_some(rank, outgoing[i], incoming[i]);
    }
    for (int i = 0; i < rank.p; ++i)
        copy_some(rank, block(rank.output(), neighbour(rank, -i), n), block(moving, i, n));
}

/** MPICH's MPIR_Alltoall_intra_k_brucks.
 * Rounds: ceil(log(p, k)). Bytes: m * p * (k - 1) / k * log(p, k). */
void bruck_radix(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const Span reversed = rank.scratch(rank.p * n);
    const std::vector<Span> packed = buffers_for_digits(rank, k);
    const std::vector<Span> received = buffers_for_digits(rank, k);
    std::vector<Span> pieces;
    rotate_input(rank, rank.output());
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        const int digits = digits_in_use(weight, k, rank.p);
        for (int digit = 1; digit <= digits; ++digit) {
            const auto buffer = static_cast<size_t>(digit - 1);
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            const Span packed_blocks = pack(rank, packed[buffer], pieces);
            rank.irecv(neighbour(rank, -digit * weight), received[buffer].part(0, packed_blocks.length));
            rank.isend(neighbour(rank, digit * weight), packed_blocks);
        }
        rank.wait_all();
        for (int digit = 1; digit <= digits; ++digit) {
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            unpack(rank, pieces, received[static_cast<size_t>(digit - 1)]);
        }
    }
    reverse_output(rank, reversed);
}

/** MPICH's MPIR_TSP_Ialltoall_sched_intra_brucks.
 * Rounds: ceil(log(p, k)). Bytes: m * p * (k - 1) / k * log(p, k). */
void bruck_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t n = rank.call.count;
    const int64_t k = parameters["k"];
    const bool buffer_per_neighbour = parameters["buffer_per_nbr"] != 0;
    const Span reversed = rank.scratch(rank.p * n);
    rotate_input(rank, rank.output());
    const Vertex start = rank.current_vertex();
    std::vector<Span> packed;
    std::vector<Span> received;
    std::vector<Request> sends;
    std::vector<Vertex> unpacked; // in the previous phase, by digit
    std::vector<Vertex> newly_unpacked;
    std::vector<Span> pieces;
    for (int64_t weight = 1; weight < rank.p; weight *= k) {
        if (weight == 1 || buffer_per_neighbour) {
            packed = buffers_for_digits(rank, k);
            received = buffers_for_digits(rank, k);
        }
        newly_unpacked.clear();
        for (int digit = 1; digit <= digits_in_use(weight, k, rank.p); ++digit) {
            const auto at = static_cast<size_t>(digit - 1);
            if (weight > 1)
                rank.continue_at(buffer_per_neighbour
                                     ? rank.vertex_after(std::span<const Request>(), unpacked)
                                     : rank.vertex_after(std::span<const Request>(&sends[at], 1), unpacked));
            const Vertex packing = rank.current_vertex();
            blocks_with_digit(pieces, rank.output(), digit, weight, k, rank.p, n);
            const Span packed_blocks = pack(rank, packed[at], pieces);
            sends.resize(std::max(sends.size(), at + 1));
            sends[at] = rank.isend(neighbour(rank, digit * weight), packed_blocks);
            rank.continue_at(weight > 1 && !buffer_per_neighbour ? unpacked[at] : start);
            const Request request =
                rank.irecv(neighbour(rank, -digit * weight), received[at].part(0, packed_blocks.length));
            rank.continue_at(rank.vertex_after({request}, {packing}));
            unpack(rank, pieces, received[at]);
            newly_unpacked.push_back(rank.current_vertex());
            rank.continue_at(start);
        }
        unpacked = newly_unpacked;
    }
    if (!unpacked.empty())
        rank.continue_at(rank.vertex_after(std::span<const Request>(), unpacked));
    reverse_output(rank, reversed);
}

namespace {

/** Copies the block for one receiver from the input_length inputs of some ranks. */
template <typename InputOf>
Span copy_blocks_for(Rank &rank, int receiver, const Span &into, int ranks, InputOf input_of) {
    const int64_t n = rank.call.count;
    for (int i = 0; i < ranks; ++i)
        copy_some(rank, block(into, i, n), block(input_of(i), receiver, n));
    return into;
}

} // namespace

/** SimGrid's alltoall__2dmesh.
 * Rounds and bytes: on a mesh of c columns and r rows c + r - 2 rounds; m * p * (c - 1) + m * c * (r - 1)
 * bytes. */
void mesh_2d(Rank &rank) {
    const auto [columns, rows, layers] = mesh_2d_shape(rank.p);
    const int64_t n = rank.call.count;
    const int row = rank.id / columns * columns; // the row's first rank
    const int column = rank.id % columns;
    const Span own_input = rank.input();
    const Span inputs = rank.scratch(columns * rank.p * n); // of this rank's row
    const Span packed = rank.scratch(columns * n);
    const auto input_of = [&](int i) { return i == column ? own_input : block(inputs, i, rank.p * n); };
    const auto output_of = [&](int peer) { return blocks(rank.output(), peer - peer % columns, columns, n); };

    exchange_with_all(
        rank, peers_on_line(row, 1, columns, rank.id), [&](int /*peer*/) { return own_input; },
        [&](int peer) { return input_of(peer % columns); });
    copy_blocks_for(rank, rank.id, output_of(rank.id), columns, input_of);
    exchange_with_all(
        rank, peers_on_line(column, columns, rows, rank.id),
        [&](int peer) { return copy_blocks_for(rank, peer, packed, columns, input_of); }, output_of);
}

/** SimGrid's alltoall__3dmesh.
 * Rounds and bytes: on a mesh of l layers with a * a ranks 2 * (a - 1) + l - 1 rounds; m * p * (a * a -
 * 1) + m * a * a * (l - 1) bytes. */
void mesh_3d(Rank &rank) {
    const auto [side, rows, layers] = mesh_3d_shape(rank.p);
    const int64_t n = rank.call.count;
    const int64_t input_length = rank.p * n;
    const int layer_size = side * rows;
    const int layer = rank.id / layer_size * layer_size; // the layer's first rank
    const int place = rank.id % layer_size;
    const Span inputs = rank.scratch(layer_size * input_length); // of this rank's layer
    const Span packed = rank.scratch(layer_size * n);
    const auto input_of = [&](int i) { return block(inputs, i, input_length); };
    const auto row_of = [&](int i) { return blocks(inputs, i - i % side, side, input_length); };
    const auto output_of = [&](int peer) {
        return blocks(rank.output(), peer - peer % layer_size, layer_size, n);
    };
    copy_some(rank, input_of(place), rank.input());
    exchange_with_all(
        rank, peers_on_line(rank.id - rank.id % side, 1, side, rank.id),
        [&](int /*peer*/) { return rank.input(); }, [&](int peer) { return input_of(peer % layer_size); });
    exchange_with_all(
        rank, peers_on_line(layer + rank.id % side, side, rows, rank.id),
        [&](int /*peer*/) { return row_of(place); }, [&](int peer) { return row_of(peer % layer_size); });
    copy_blocks_for(rank, rank.id, output_of(rank.id), layer_size, input_of);
    std::vector<int> across_layers;
    for (int i = 1; i < layers; ++i)
        across_layers.push_back((rank.id + i * layer_size) % rank.p);
    exchange_with_all(
        rank, across_layers,
        [&](int peer) { return copy_blocks_for(rank, peer, packed, layer_size, input_of); }, output_of);
}

/** MPICH's MPIR_TSP_Ialltoall_sched_intra_ring.
 * Rounds: p - 1. Bytes: m * p * (p - 1). */
void ring_of_whole_inputs(Rank &rank) {
    const int64_t n = rank.call.count;
    rank.copy(block(rank.output(), rank.id, n), block(rank.input(), rank.id, n));
    pass_around_ring(rank, rank.input(), [&](int from, const Span &received) {
        rank.copy(block(rank.output(), from, n), block(received, rank.id, n));
    });
}

/** SimGrid's alltoall__rdb.
 * Rounds: lg(p). Bytes: m * p * (p - 1). */
void recursive_doubling(Rank &rank) {
    const int64_t input_length = rank.p * rank.call.count;
    const Span inputs = rank.scratch(rank.p * input_length);
    copy_some(rank, block(inputs, rank.id, input_length), rank.input());
    exchange_blocks_by_doubling(rank, inputs, input_length);
    copy_blocks_for(rank, rank.id, rank.output(), rank.p,
                    [&](int i) { return block(inputs, i, input_length); });
}

} // namespace offbeat::algorithms::alltoall
