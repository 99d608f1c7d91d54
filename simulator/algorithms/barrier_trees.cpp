#include "algorithms/barrier.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::barrier {

using schedule::Rank;
using schedule::Request;

namespace {

void hear_from_all(Rank &rank, int tag) {
    std::vector<Request> requests;
    for (int other = 1; other < rank.p; ++other)
        requests.push_back(rank.irecv(other, no_data, tag));
    rank.wait(requests);
}

void report_and_wait(Rank &rank, int tag) {
    rank.send(0, no_data, tag);
    rank.recv(0, no_data, tag);
}

void release_along_tree(Rank &rank) {
    const Tree tree = mpich_knomial_2_tree(rank.p, rank.id, 0, 2);
    if (!tree.is_root())
        rank.recv(tree.parent, no_data);
    for (const int child : tree.children)
        rank.send(child, no_data);
}

} // namespace

void linear(Rank &rank, int tag) {
    if (rank.id > 0)
        return report_and_wait(rank, tag);
    hear_from_all(rank, tag);
    std::vector<Request> requests;
    for (int other = 1; other < rank.p; ++other)
        requests.push_back(rank.isend(other, no_data, tag));
    rank.wait(requests);
}

void linear_openmpi(Rank &rank, const Parameters & /*none*/) {
    if (rank.id > 0)
        return report_and_wait(rank, barrier_tag);
    hear_from_all(rank, barrier_tag);
    for (int other = 1; other < rank.p; ++other)
        rank.send(other, no_data, barrier_tag);
}

void double_ring(Rank &rank, bool synchronous) {
    if (rank.p == 1)
        return;
    const int next = around(rank, 1);
    const int previous = around(rank, -1);
    for (const bool last : {false, true}) {
        if (rank.id > 0)
            rank.recv(previous, no_data);
        if (last && synchronous)
            rank.ssend(next, no_data);
        else
            rank.send(next, no_data);
        if (rank.id == 0)
            rank.recv(previous, no_data);
    }
}

void tree(Rank &rank, const Parameters & /*none*/) {
    int top = 1;
    while (top < rank.p)
        top *= 2;
    const auto partner_at = [&](int jump) {
        const int partner = rank.id ^ jump;
        return partner < rank.p && partner % jump == 0 ? partner : -1;
    };
    for (int jump = 1; jump < top; jump *= 2) {
        const int partner = partner_at(jump);
        if (partner > rank.id)
            rank.recv(partner, no_data);
        else if (partner >= 0)
            rank.send(partner, no_data);
    }
    for (int jump = top / 2; jump > 0; jump /= 2) {
        const int partner = partner_at(jump);
        if (partner > rank.id)
            rank.send(partner, no_data);
        else if (partner >= 0)
            rank.recv(partner, no_data);
    }
}

void by_node(Rank &rank, const Parameters &parameters) {
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const Part part{schedule::Collective::barrier, 0, 0, {}, {}};
    const auto meet = [&](Rank &inner) { dissemination(inner, parameters); };
    run(rank, node, part, meet);
    if (leaders.has_me())
        run(rank, leaders, part, meet);
    run(rank, node, part, release_along_tree);
}

} // namespace offbeat::algorithms::barrier
