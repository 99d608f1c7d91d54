/** @file
 * Ranks as a mesh, numbered along its rows; for algorithms that go along one axis after another.
 */
#pragma once

#include "schedule/program.hpp"

#include <vector>

namespace offbeat::algorithms {

/** p = rows * columns, rows <= columns. */
struct Mesh2d {
    int rows;
    int columns;
};

/** p = side * side * layers. */
struct Mesh3d {
    int side;
    int layers;
};

/** As SimGrid splits p. std::invalid_argument where it finds no mesh (p prime, for instance). */
Mesh2d mesh_2d_of(int p);
Mesh3d mesh_3d_of(int p);

/** The ranks first, first + stride, ...: `number` of them, but not `self`. */
std::vector<int> others_on_line(int first, int stride, int number, int self);

/** Posts a receive from each peer, into `place(peer)`; then sends each one `what(peer)`, blocking; then waits
 * for the receives. */
template <typename What, typename Place>
void exchange_with_all(schedule::Rank &rank, const std::vector<int> &peers, What what, Place place) {
    std::vector<schedule::Request> receives;
    receives.reserve(peers.size());
    for (const int peer : peers)
        receives.push_back(rank.irecv(peer, place(peer)));
    for (const int peer : peers)
        rank.send(peer, what(peer));
    rank.wait(receives);
}

} // namespace offbeat::algorithms
