#include "evaluate/course.hpp"

#include <algorithm>

namespace offbeat::evaluate {

using schedule::Iterations;
using schedule::Noise;
using schedule::Step;

Course::Course(const Iterations &program, size_t p, Recording recording)
    : program_(program), p_(p), recording_(recording), logs_(recording.first_logged < recording.end_logged),
      logs_sends_(logs_ && std::ranges::any_of(program.steps, &Step::logs_sends)), state_(p),
      iteration_end_s_(p * program.iterations), communication_s_(p * program.iterations) {
    for (size_t rank = 0; rank < p; ++rank)
        state_[rank].noise = program.first_noise[rank];
}

const Step *Course::next_step(uint32_t rank, double now_s) {
    State &state = state_[rank];
    if (state.iteration == program_.iterations)
        return nullptr;
    if (state.step == UINT32_MAX) {
        if (logs_)
            log_iteration(rank, now_s);
    } else if (const Step &step = program_.steps[state.step];
               step.segment == schedule::no_segment && !step.synchronises) {
        state.worked_s += now_s - state.step_begin_s;
    }
    do {
        if (++state.step == program_.steps.size()) {
            end_iteration(state, rank, now_s);
            if (state.iteration == program_.iterations)
                return nullptr;
        }
    } while ((state.iteration + 1) % program_.steps[state.step].every != 0);
    state.step_begin_s = now_s;
    if (logs_)
        log(rank, state.step, now_s, recording_.end_logged);
    return &program_.steps[state.step];
}

void Course::end_iteration(State &state, uint32_t rank, double now_s) {
    const size_t index = state.iteration * p_ + rank;
    iteration_end_s_[index] = now_s;
    communication_s_[index] = static_cast<float>(now_s - state.iteration_begin_s - state.worked_s);
    state.iteration_begin_s = now_s;
    state.worked_s = 0;
    state.step = 0;
    ++state.iteration;
    ++completions_;
    if (logs_)
        log_iteration(rank, now_s);
}

/** Logs the current iteration of a rank if it is before `end`. */
[[gnu::noinline]] void Course::log(uint32_t rank, uint32_t step, double now_s, uint32_t end) {
    const uint32_t iteration = state_[rank].iteration;
    if (iteration < recording_.first_logged || iteration >= end)
        return;
    log_.time_s.push_back(now_s);
    log_.rank.push_back(rank);
    log_.iteration.push_back(iteration);
    log_.step.push_back(step);
}

/** An iteration begins, or the last one has ended. */
void Course::log_iteration(uint32_t rank, double now_s) {
    log(rank, static_cast<uint32_t>(program_.steps.size()), now_s, recording_.end_logged + 1);
}

double Course::seconds_before_traffic(uint32_t rank) {
    State &state = state_[rank];
    double seconds = work(rank).seconds[rank];
    const auto is_earlier = [&](const Noise &noise) {
        return noise.iteration < state.iteration ||
               (noise.iteration == state.iteration && noise.step < state.step);
    };
    while (state.noise < program_.first_noise[rank + 1] && is_earlier(program_.noise[state.noise]))
        ++state.noise;
    for (; state.noise < program_.first_noise[rank + 1] &&
           program_.noise[state.noise].iteration == state.iteration &&
           program_.noise[state.noise].step == state.step;
         ++state.noise)
        seconds += program_.noise[state.noise].seconds;
    return seconds;
}

} // namespace offbeat::evaluate
