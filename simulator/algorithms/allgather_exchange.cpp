#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/tasks.hpp"

#include <algorithm>

namespace offbeat::algorithms::allgather {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

enum class Distances { doubling, halving };

/** Who exchanges which blocks when. */
class Plan {
  public:
    Plan(const Rank &rank, int64_t k, Distances distances)
        : exchange(rank.p, rank.id, static_cast<int>(k)), output_(rank.output()), n_(rank.call.count),
          rank_(rank.id), distances_(distances) {
    }

    RecursiveExchange exchange;

    [[nodiscard]] Span whole() const {
        return output_;
    }
    [[nodiscard]] Span own(int rank) const {
        return block(output_, rank, n_);
    }
    [[nodiscard]] const std::vector<int> &partners(int phase) const {
        const int at = distances_ == Distances::halving ? exchange.phases - 1 - phase : phase;
        return exchange.partners[static_cast<size_t>(at)];
    }
    /** What a rank that takes part holds before a phase. */
    [[nodiscard]] Span held(int rank, int phase) const {
        const int number = exchange.number(rank);
        return span_of(exchange.ranks_near(
            distances_ == Distances::halving ? exchange.reversed(number) : number, phase));
    }
    [[nodiscard]] Span held(int phase) const {
        return held(rank_, phase);
    }
    /** With whom this rank changes places first, and what either one has at that time. */
    [[nodiscard]] int mirror() const {
        return distances_ == Distances::halving ? exchange.rank(exchange.reversed(exchange.number(rank_)))
                                                : rank_;
    }
    [[nodiscard]] Span held_by(int rank) const {
        return span_of(exchange.ranks_near(exchange.number(rank), 0));
    }

  private:
    [[nodiscard]] Span span_of(const RankRange &range) const {
        return blocks(output_, range.from, range.end - range.from, n_);
    }

    Span output_;
    int64_t n_;
    int rank_;
    Distances distances_;
};

/** Phases from `first` up to `end`, whose receives are posted together. */
void phases_together(Rank &rank, const Plan &plan, int first, int end) {
    std::vector<std::vector<Request>> receives;
    for (int phase = first; phase < end; ++phase) {
        auto &of_phase = receives.emplace_back();
        for (const int partner : plan.partners(phase))
            of_phase.push_back(rank.irecv(partner, plan.held(partner, phase)));
    }
    for (int phase = first; phase < end; ++phase) {
        for (const int partner : plan.partners(phase))
            rank.isend(partner, plan.held(phase));
        rank.wait(receives[static_cast<size_t>(phase - first)]);
    }
    rank.wait_all();
}

void exchange_in_phases(Rank &rank, const Parameters &parameters, Distances distances) {
    const Plan plan(rank, parameters["k"], distances);
    const int together = parameters["single_phase_recv"] != 0 ? 1 : 2;
    if (!plan.exchange.takes_part()) {
        rank.send(plan.exchange.sends_to, rank.input());
        rank.recv(plan.exchange.sends_to, plan.whole());
        return;
    }
    rank.copy(plan.own(rank.id), rank.input());
    for (const int other : plan.exchange.receives_from)
        rank.irecv(other, plan.own(other));
    rank.wait_all();
    const int mirror = plan.mirror();
    if (mirror != rank.id)
        rank.sendrecv(mirror, plan.held_by(rank.id), mirror, plan.held_by(mirror));
    for (int phase = 0; phase < plan.exchange.phases; phase += together)
        phases_together(rank, plan, phase, std::min(phase + together, plan.exchange.phases));
    for (const int other : plan.exchange.receives_from)
        rank.isend(other, plan.whole());
}

void exchange_as_tasks(Rank &rank, const Parameters &parameters, Distances distances) {
    const Plan plan(rank, parameters["k"], distances);
    Tasks tasks(rank);
    if (!plan.exchange.takes_part()) {
        tasks.isend(plan.exchange.sends_to, rank.input());
        tasks.fence();
        tasks.irecv(plan.exchange.sends_to, plan.whole());
        return;
    }
    const Tasks::Task copied = tasks.copy(plan.own(rank.id), rank.input());
    for (const int other : plan.exchange.receives_from)
        tasks.irecv(other, plan.own(other), {copied});
    tasks.fence();
    const int mirror = plan.mirror();
    if (mirror != rank.id) {
        tasks.isend(mirror, plan.held_by(rank.id));
        tasks.irecv(mirror, plan.held_by(mirror));
    }
    tasks.fence();
    Tasks::After receives;
    for (int phase = 0; phase < plan.exchange.phases; ++phase) {
        for (const int partner : plan.partners(phase))
            tasks.isend(partner, plan.held(phase), receives);
        for (const int partner : plan.partners(phase))
            receives.push_back(tasks.irecv(partner, plan.held(partner, phase)));
    }
    for (const int other : plan.exchange.receives_from)
        tasks.isend(other, plan.whole(), receives);
}

} // namespace

void exchange_doubling(Rank &rank, const Parameters &parameters) {
    exchange_in_phases(rank, parameters, Distances::doubling);
}

void exchange_halving(Rank &rank, const Parameters &parameters) {
    exchange_in_phases(rank, parameters, Distances::halving);
}

void exchange_doubling_tasks(Rank &rank, const Parameters &parameters) {
    exchange_as_tasks(rank, parameters, Distances::doubling);
}

void exchange_halving_tasks(Rank &rank, const Parameters &parameters) {
    exchange_as_tasks(rank, parameters, Distances::halving);
}

} // namespace offbeat::algorithms::allgather
