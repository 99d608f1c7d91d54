/** @file
 * The course of every rank through a program of many iterations: which step it executes, and how long it has
 * worked and spent in messages.
 */
#pragma once

#include "schedule/iterations.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace offbeat::evaluate {

/** The iterations whose steps are recorded. Times are those of the ranks' clocks, which are the same. */
struct Recording {
    uint32_t first_logged = 0; /**< iterations whose steps are logged: from this one on */
    uint32_t end_logged = 0;   /**< up to this one, exclusively */
};

/** What ranks did, in the order of time: entry i is time_s[i], rank[i], ... */
struct Log {
    std::vector<double> time_s;
    std::vector<uint32_t> rank;
    std::vector<uint32_t> iteration;
    /** The step that begins. Beyond the program's steps: their number if the iteration begins (also the one
     * after the last logged one), and one more if the rank has completed a send (of steps with logs_sends).
     */
    std::vector<uint32_t> step;
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
    [[nodiscard]] bool logs_sends() const {
        return logs_sends_;
    }
    /** All ranks have arrived at a step that synchronises them. */
    void log_synchronisation(double now_s) {
        synchronised_s_.push_back(now_s);
    }
    /** A rank has completed a send of its current step. */
    void log_send(uint32_t rank, double now_s) {
        if (program_.steps[state_[rank].step].logs_sends)
            log(rank, static_cast<uint32_t>(program_.steps.size()) + 1, now_s, recording_.end_logged);
    }
    /** The log since the last call. */
    [[nodiscard]] Log take_log() {
        return std::exchange(log_, {});
    }
    /** The sum over ranks of completed iterations. */
    [[nodiscard]] uint64_t completions() const {
        return completions_;
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
    /** When all ranks continued after each executed step that synchronises them. */
    [[nodiscard]] const std::vector<double> &synchronised_s() const {
        return synchronised_s_;
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
    void log(uint32_t rank, uint32_t step, double now_s, uint32_t end);
    void log_iteration(uint32_t rank, double now_s);

    const schedule::Iterations &program_;
    size_t p_;
    Recording recording_;
    bool logs_;       /**< any iteration */
    bool logs_sends_; /**< of any step */
    std::vector<State> state_;
    uint64_t completions_ = 0;
    std::vector<double> iteration_end_s_;
    std::vector<float> communication_s_;
    std::vector<double> synchronised_s_;
    Log log_;
};

} // namespace offbeat::evaluate
