#include "evaluate/course.hpp"

#include <algorithm>
#include <limits>

namespace offbeat::evaluate {

using schedule::Iterations;
using schedule::Noise;
using schedule::Step;

Course::Course(const Iterations &program, size_t p, Recording recording)
    : program_(program), p_(p), recording_(recording), state_(p), iteration_end_s_(p * program.iterations),
      communication_s_(p * program.iterations) {
    for (size_t rank = 0; rank < p; ++rank)
        state_[rank].noise = program.first_noise[rank];
    recording_.end_detailed = std::min(recording_.end_detailed, program.iterations);
    recording_.first_detailed = std::min(recording_.first_detailed, recording_.end_detailed);
    step_begin_s_.assign(p * program.steps.size() * (recording_.end_detailed - recording_.first_detailed),
                         std::numeric_limits<double>::quiet_NaN());
}

const Step *Course::next_step(uint32_t rank, double now_s) {
    State &state = state_[rank];
    if (state.iteration == program_.iterations)
        return nullptr;
    if (state.step != UINT32_MAX && program_.steps[state.step].segment == schedule::no_segment)
        state.worked_s += now_s - state.step_begin_s;
    do {
        if (++state.step == program_.steps.size()) {
            end_iteration(state, rank, now_s);
            if (state.iteration == program_.iterations)
                return nullptr;
        }
    } while ((state.iteration + 1) % program_.steps[state.step].every != 0);
    state.step_begin_s = now_s;
    if (state.iteration >= recording_.first_detailed && state.iteration < recording_.end_detailed)
        step_begin_s_[((state.iteration - recording_.first_detailed) * p_ + rank) * program_.steps.size() +
                      state.step] = now_s;
    return &program_.steps[state.step];
}

void Course::end_iteration(State &state, uint32_t rank, double now_s) {
    const size_t place = state.iteration * p_ + rank;
    iteration_end_s_[place] = now_s;
    communication_s_[place] = static_cast<float>(now_s - state.iteration_begin_s - state.worked_s);
    state.iteration_begin_s = now_s;
    state.worked_s = 0;
    state.step = 0;
    ++state.iteration;
    ++completed_;
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
