#include "schedule/halo_exchange.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace offbeat::schedule {

namespace {

void check(int p, std::span<const HaloMessage> messages) {
    const auto exists = [p](int rank) { return rank >= 0 && rank < p; };
    for (const HaloMessage &message : messages) {
        if (!exists(message.source) || !exists(message.target))
            throw std::invalid_argument("a message from rank " + std::to_string(message.source) +
                                        " to rank " + std::to_string(message.target) + ", but there are " +
                                        std::to_string(p) + " ranks");
        if (message.bytes < 0)
            throw std::invalid_argument("a message has " + std::to_string(message.bytes) + " bytes");
    }
}

/** The places of messages by rank, each list in the order of the messages. */
std::vector<std::vector<uint32_t>> by_rank(int p, std::span<const HaloMessage> messages,
                                           int HaloMessage::*rank) {
    std::vector<std::vector<uint32_t>> lists(static_cast<size_t>(p));
    for (uint32_t i = 0; i < messages.size(); ++i)
        lists[static_cast<size_t>(messages[i].*rank)].push_back(i);
    return lists;
}

void send(Rank &rank, HaloSends sends, const HaloMessage &message) {
    const Span data = rank.scratch(message.bytes);
    switch (sends) {
    case HaloSends::nonblocking:
        rank.isend(message.target, data);
        break;
    case HaloSends::blocking:
        rank.send(message.target, data);
        break;
    case HaloSends::synchronous:
        rank.issend(message.target, data);
        break;
    case HaloSends::buffered:
        rank.ibsend(message.target, data);
        break;
    }
}

} // namespace

Graph halo_exchange(int p, std::span<const HaloMessage> messages, HaloSends sends, bool local_work) {
    check(p, messages);
    const Call call{Collective::barrier, p, 0, 0, 1, {}, true};
    const auto sent = by_rank(p, messages, &HaloMessage::source);
    const auto received = by_rank(p, messages, &HaloMessage::target);
    GraphBuilder builder(p, local_work);
    Program program;
    for (int id = 0; id < p; ++id) {
        Rank rank(call, id, program);
        for (const uint32_t i : received[static_cast<size_t>(id)])
            rank.irecv(messages[i].source, rank.scratch(messages[i].bytes));
        for (const uint32_t i : sent[static_cast<size_t>(id)])
            send(rank, sends, messages[i]);
        rank.wait_all();
        rank.finish();
        builder.add(program);
    }
    return builder.build();
}

} // namespace offbeat::schedule
