/** @file
 * The course of every rank through a program of many iterations: which step it executes, and how long it has
 * worked and spent in messages.
 */
#pragma once

#include "schedule/iterations.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace offbeat::evaluate {

/** The iterations whose steps are recorded. Times are those of the ranks' clocks, which are the same. */
struct Recording {
    uint32_t first_detailed = 0; /**< from this one on */
    uint32_t end_detailed = 0;   /**< up to this one, exclusively */
};

class Course {
  public:
    /** `program` must outlive this object. */
    Course(const schedule::Iterations &program, size_t p, Recording recording);

    /** A rank has completed its step, or begins: moves it to its next step.
     * @return nullptr if the program has no further step for this rank */
    const schedule::Step *next_step(uint32_t rank, double now_s);

    /** The seconds of the current step of work that need no memory, noise included. */
    [[nodiscard]] double seconds_before_traffic(uint32_t rank);
    [[nodiscard]] const schedule::Work &work(uint32_t rank) const {
        return program_.works[program_.steps[state_[rank].step].work];
    }
    /** The sum over ranks of completed iterations. */
    [[nodiscard]] uint64_t completed() const {
        return completed_;
    }

    /** @name Results, in seconds; iteration after iteration, in it rank after rank */
    ///@{
    [[nodiscard]] const std::vector<double> &iteration_end_s() const {
        return iteration_end_s_;
    }
    /** The time of each iteration that a rank spent in steps other than work. */
    [[nodiscard]] const std::vector<float> &communication_s() const {
        return communication_s_;
    }
    /** The beginning of each step of the detailed iterations, step after step for each rank; NaN if the step
     * was not executed. */
    [[nodiscard]] const std::vector<double> &step_begin_s() const {
        return step_begin_s_;
    }
    ///@}

  private:
    struct State {
        uint32_t iteration = 0;
        uint32_t step = UINT32_MAX; /**< not begun */
        uint32_t noise = 0;         /**< the next one of this rank */
        double step_begin_s = 0;
        double worked_s = 0; /**< in this iteration */
        double iteration_begin_s = 0;
    };
    void end_iteration(State &state, uint32_t rank, double now_s);

    const schedule::Iterations &program_;
    size_t p_;
    Recording recording_;
    std::vector<State> state_;
    uint64_t completed_ = 0;
    std::vector<double> iteration_end_s_;
    std::vector<float> communication_s_;
    std::vector<double> step_begin_s_;
};

} // namespace offbeat::evaluate
