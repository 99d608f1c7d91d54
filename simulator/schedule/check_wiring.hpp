/** @file Parts of the checker: all programs of a call side by side, with the messages between them. */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offbeat::schedule {

/** What the parts of the checker throw. */
struct Wrong {
    std::string sentence;
};

/** Lists of numbers in one array. */
class Lists {
  public:
    /** Lists with the sizes that count[i + 1] says; count[0] is 0. */
    explicit Lists(std::vector<uint32_t> count = {0});
    void add(uint32_t list, uint32_t value);
    [[nodiscard]] std::span<const uint32_t> of(uint32_t list) const;

  private:
    std::vector<uint32_t> end_; /**< of what was added so far */
    std::vector<uint32_t> start_;
    std::vector<uint32_t> values_;
};

/** Operations and joints of all ranks, numbered through. */
struct Wiring {
    explicit Wiring(std::span<const Program> all);

    std::span<const Program> programs;
    std::vector<uint32_t> first_operation; /**< number of each rank's first operation; p + 1 entries */
    std::vector<uint32_t> first_joint;     /**< number of each rank's joint 0; p + 1 entries */
    Lists operations_of;                   /**< of a joint, as operations of its rank */
    Lists waiters_of;                      /**< joints of its rank that wait for a request */
    Lists followers_of;                    /**< joints of its rank that wait for a joint */
    bool queues = false;                   /**< somebody has a completion queue */
};

/** Peers, pieces, requests and joints that a program names exist. Throws Wrong. */
void check_bounds(const Program &program, const Call &call);

/** For each operation the one at the other end of its message, `none` for local ones. Throws Wrong. */
std::vector<uint32_t> match(const Wiring &wiring);

/** "element 3 of its output" */
std::string place(const Span &span, int64_t offset);
/** "a receive from rank 3" */
std::string describe(const Operation &operation);

inline bool is_send(const Operation &operation) {
    return operation.kind == Kind::send || operation.kind == Kind::synchronous_send;
}
inline bool is_message(const Operation &operation) {
    return is_send(operation) || operation.kind == Kind::receive;
}
inline std::span<const Span> pieces_of(const Program &program, const Operation &operation) {
    return std::span<const Span>(program.pieces).subspan(operation.first_piece, operation.pieces);
}

} // namespace offbeat::schedule
