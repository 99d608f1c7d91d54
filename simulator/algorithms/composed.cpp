#include "algorithms/composed.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms {

using namespace schedule;

namespace {

/** Copies the program of a part into that of the whole: other ranks, buffers, requests, joints and queues. */
class Transplant {
  public:
    Transplant(Rank &rank, const Group &group, const Part &part, const Program &program)
        : rank_(rank), group_(group), program_(program), buffers_{part.input, part.output},
          first_joint_(rank.here()) {
        for (const int64_t length : program.scratch)
            buffers_.push_back(rank.scratch(length));
        for (uint32_t i = 0; i < program.queues; ++i)
            queues_.push_back(rank.completion_queue());
    }

    /** Operations stand before the joints that wait for them and after the joints that start them. */
    void all() {
        for (const Operation &operation : program_.operations) {
            joints_up_to(operation.joint);
            rank_.at(joints_[operation.joint]);
            requests_.push_back(copy(operation));
        }
        joints_up_to(static_cast<Joint>(program_.joints.size() - 1));
        rank_.at(joints_.back());
    }

  private:
    void joints_up_to(Joint last) {
        while (joints_.size() <= last)
            joints_.push_back(joints_.empty() ? first_joint_ : copy(program_.joints[joints_.size()]));
    }

    Joint copy(const JointNeeds &needs) {
        if (needs.queue != none) {
            rank_.at(joints_[program_.awaited_joints[needs.first_joint]]);
            rank_.pop(queues_[needs.queue]);
            return rank_.here();
        }
        std::vector<Request> requests;
        for (uint32_t i = 0; i < needs.requests; ++i)
            requests.push_back(requests_[program_.awaited_requests[needs.first_request + i]]);
        std::vector<Joint> joints;
        for (uint32_t i = 0; i < needs.joints; ++i)
            joints.push_back(joints_[program_.awaited_joints[needs.first_joint + i]]);
        return rank_.when(requests, joints);
    }

    Request copy(const Operation &operation) {
        std::vector<Span> pieces;
        for (uint32_t i = 0; i < operation.pieces; ++i) {
            const Span &piece = program_.pieces[operation.first_piece + i];
            pieces.push_back(buffers_[static_cast<size_t>(piece.buffer)].part(piece.offset, piece.length));
        }
        switch (operation.kind) {
        case Kind::reduce:
            rank_.reduce(pieces[0], pieces[1], operation.order);
            return none;
        case Kind::copy:
            rank_.copy(pieces[0], pieces[1]);
            return none;
        default:
            return copy_message(operation, pieces);
        }
    }

    Request copy_message(const Operation &operation, const std::vector<Span> &pieces) {
        const int peer = group_.rank(operation.peer);
        Request request = none;
        if (operation.kind == Kind::receive)
            request = rank_.irecv(peer, pieces, operation.tag);
        else if (operation.kind == Kind::send)
            request = rank_.isend(peer, pieces, operation.tag);
        else
            request = rank_.issend(peer, pieces, operation.tag);
        if (operation.queue != none)
            rank_.tell(queues_[operation.queue], request);
        return request;
    }

    Rank &rank_;
    const Group &group_;
    const Program &program_;
    std::vector<Span> buffers_;
    std::vector<CompletionQueue> queues_;
    std::vector<Request> requests_;
    std::vector<Joint> joints_;
    Joint first_joint_;
};

std::vector<int> nodes_of(const Rank &rank, const Group &group) {
    std::vector<int> nodes;
    for (const int member : group.ranks)
        nodes.push_back(rank.call.node(member));
    return nodes;
}

} // namespace

void run(Rank &rank, const Group &group, const Part &part, const std::function<void(Rank &)> &write) {
    const std::vector<int> nodes = nodes_of(rank, group);
    Call call = rank.call;
    call.collective = part.collective;
    call.p = group.p;
    call.root = part.root;
    call.count = part.count;
    if (!group.ranks.empty()) {
        call.node_of_rank = nodes;
        call.node_map = nullptr;
    }
    if (part.input.length < input_length(call, group.me) ||
        part.output.length < output_length(call, group.me))
        throw std::logic_error("a part of a collective with too short a buffer");
    Program program;
    Rank inner(call, group.me, program);
    write(inner);
    inner.finish();
    Transplant(rank, group, part, program).all();
}

void run(Rank &rank, const Group &group, const Part &part, std::string_view family, std::string_view name,
         std::initializer_list<Setting> settings) {
    const Algorithm *algorithm = find(part.collective, family, name);
    if (algorithm == nullptr)
        throw std::logic_error("no algorithm " + std::string(name) + " of family " + std::string(family));
    Parameters parameters(algorithm->parameters);
    for (const auto &[key, value] : settings)
        parameters.set(key, value);
    run(rank, group, part, [&](Rank &inner) { algorithm->write(inner, parameters); });
}

} // namespace offbeat::algorithms
