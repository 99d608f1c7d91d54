/** @file Parts of the checker: what happens before what within a rank. */
#pragma once

#include "schedule/check_run.hpp"
#include "schedule/check_wiring.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** The order of a rank's joints. */
class JointOrder {
  public:
    JointOrder(const Wiring &wiring, uint32_t rank, const Run &run);

    /** Joint b fires after joint a, or is the same one. */
    [[nodiscard]] bool in_order(Joint a, Joint b) const;
    /** Operation a is over before operation b starts: nobody waits for local ones. */
    [[nodiscard]] bool over_before(uint32_t a, uint32_t b) const;
    /** Operation a is started before b is. */
    [[nodiscard]] bool started_before(uint32_t a, uint32_t b) const;
    /** Joints follow each other one by one, and operations were written in their order. */
    [[nodiscard]] bool chain() const {
        return chain_;
    }

  private:
    [[nodiscard]] bool is_chain() const;
    void note_ancestors();
    void add_ancestors(Joint joint, Joint earlier);
    [[nodiscard]] uint64_t *ancestors(Joint joint);

    const Wiring &wiring_;
    const Program &program_;
    const uint32_t rank_;
    const Run &run_;
    bool chain_;
    std::vector<uint64_t> bits_; /**< for each joint, which of the joints up to it come before it */
};

} // namespace offbeat::schedule
