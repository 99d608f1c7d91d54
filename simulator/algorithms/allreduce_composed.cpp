#include "algorithms/allreduce.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/folding.hpp"
#include "algorithms/openmpi_choice.hpp"
#include "algorithms/reduce.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::algorithms::allreduce {

using namespace schedule;

namespace {

/** A reduce of everything to rank 0. */
Part reduce_part(Rank &rank) {
    return {Collective::reduce, 0, rank.call.count, rank.input(), rank.output()};
}

/** A bcast of everything from rank 0. */
Part bcast_part(Rank &rank) {
    return {Collective::bcast, 0, rank.call.count, {}, rank.output()};
}

} // namespace

void openmpi_linear(Rank &rank, const Parameters & /*none*/) {
    run(rank, everyone(rank), reduce_part(rank), "openmpi", "linear");
    run(rank, everyone(rank), bcast_part(rank), "openmpi", "basic_linear");
}

void openmpi_nonoverlapping(Rank &rank, const Parameters & /*none*/) {
    run_openmpi_choice(rank, everyone(rank), reduce_part(rank));
    run_openmpi_choice(rank, everyone(rank), bcast_part(rank));
}

void reduce_then_bcast(Rank &rank, const Parameters & /*none*/) {
    reduce_then_bcast_part(rank, rank.input(), rank.output());
}

void reduce_then_bcast_part(Rank &rank, Span input, Span output) {
    const Part reduce{Collective::reduce, 0, output.length, input, output};
    run(rank, everyone(rank), reduce, [](Rank &inner) { reduce::linear_at_once(inner, Parameters({})); });
    const Part bcast{Collective::bcast, 0, output.length, {}, output};
    run(rank, everyone(rank), bcast, "simgrid", "binomial_tree");
}

namespace {

/** A copy of the input, padded to `length` elements with whatever there is. */
Span padded_input(Rank &rank, int64_t length) {
    const Span padded = rank.scratch(length);
    for (int64_t filled = 0; filled < length; filled += rank.call.count) {
        const int64_t more = std::min(rank.call.count, length - filled);
        rank.copy(padded.part(filled, more), rank.input().part(0, more));
    }
    return padded;
}

/** SMPI's default allgather: everybody sends its block, which is in place, to everybody else. */
void gather_at_once(Rank &rank, Span all, int64_t length) {
    for (int other = 0; other < rank.p; ++other) {
        if (other == rank.id)
            continue;
        rank.isend(other, block(all, rank.id, length), 1);
        rank.irecv(other, block(all, other, length), 1);
    }
    rank.wait_all();
}

/** SMPI's default alltoall: Open MPI's decision, with algorithms that come near. */
void alltoall(Rank &rank, Span input, Span output, int64_t length) {
    Call call = rank.call;
    call.collective = Collective::alltoall;
    call.count = length;
    const std::string_view choice = openmpi_choice(call);
    const Part part{Collective::alltoall, 0, length, input, output};
    run(rank, everyone(rank), part, "simgrid",
        choice == "pairwise"         ? "pair"
        : choice == "modified_bruck" ? "bruck"
                                     : "basic_linear");
}

} // namespace

void halving_then_allgather(Rank &rank, const Parameters & /*none*/) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("rab1 runs on a power of two of ranks only");
    const int64_t count = rank.call.count;
    const bool whole = count % rank.p == 0;
    const int64_t length = whole ? count / rank.p : (count + rank.p) / rank.p;
    if (whole)
        copy_in(rank);
    const Span all = whole ? rank.output() : padded_input(rank, length * rank.p);
    const auto rounds = halve_blocks(fold(rank, Keep::odd), Distances::shrinking,
                                     [&](int64_t number) { return number * length; });
    reduce_by_halves(rank, rounds, all, rank.scratch(length * rank.p));
    gather_at_once(rank, all, length);
    if (!whole)
        rank.copy(rank.output(), all.part(0, count));
}

void alltoall_then_allgather(Rank &rank, const Parameters & /*none*/) {
    const int64_t count = rank.call.count;
    const bool whole = count % rank.p == 0;
    const int64_t length = whole ? count / rank.p : count < rank.p ? rank.p : (count + rank.p) / rank.p;
    const Span received = rank.scratch(length * rank.p);
    alltoall(rank, whole ? rank.input() : padded_input(rank, length * rank.p), received, length);
    const Span all = whole ? rank.output() : rank.scratch(length * rank.p);
    const Span mine = block(all, rank.id, length);
    copy_some(rank, mine, block(received, 0, length));
    for (int other = 1; other < rank.p; ++other)
        reduce_some(rank, mine, block(received, other, length));
    gather_at_once(rank, all, length);
    if (!whole)
        rank.copy(rank.output(), all.part(0, count));
}

void mpich_scheduled_naive(Rank &rank, const Parameters & /*none*/) {
    run(rank, everyone(rank), reduce_part(rank), "mpich", "nb(sched_smp)");
    run(rank, everyone(rank), bcast_part(rank), "mpich", "nb(sched_smp)");
}

} // namespace offbeat::algorithms::allreduce
