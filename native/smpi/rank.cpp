/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <optional>

// SMPI's state of a process; exported by SimGrid's library, but declared in no header.
namespace simgrid::smpi {
class XBT_PUBLIC ActorExt {
  public:
    static simgrid::xbt::Extension<simgrid::s4u::Actor, ActorExt> EXTENSION_ID;
    void set_replaying(bool value);
};
} // namespace simgrid::smpi

namespace offbeat::smpi {

namespace {

/** Sets whether messages of the calling process carry data. Without data simulated times are the same, as in
 * SMPI's replay of traces. */
void set_copies_data(bool copies) {
    simgrid::s4u::Actor::self()->extension<simgrid::smpi::ActorExt>()->set_replaying(!copies);
}

/** Simulated time between the announcement of a call and its start. */
constexpr double lead_s = 1e-3;

/** Longer calls are due to negative message sizes after an overflow, which SimGrid takes for very large ones.
 */
constexpr double max_credible_s = 1e7;

double clock_s() {
    return simgrid::s4u::Engine::get_clock();
}

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/** Runs the call on one rank. */
void run_on_rank(Session &session, int rank) {
    const size_t index = static_cast<size_t>(rank);
    const double delay_s = session.delays_s[index];
    void *input = session.check ? session.check->input(rank) : session.input.data();
    void *output = session.check ? session.check->output(rank) : session.output.data();
    simgrid::s4u::this_actor::sleep_until(session.start_s + delay_s);
    session.arrivals_s[index] = clock_s() - session.start_s;
    set_copies_data(session.copies_data);
    const int error = run_call(session.call, input, output);
    session.exits_s[index] = clock_s() - session.start_s;
    set_copies_data(true); // creating communicators and MPI_Finalize need data
    if (error != MPI_SUCCESS) {
        session.error = error;
    }
}

/** On rank 0: runs the call on all ranks, which wait for it, until all have left it. */
void run_on_all_ranks(Session &session, bool copies_data) {
    session.copies_data = copies_data;
    session.error = MPI_SUCCESS;
    session.start_s = clock_s() + lead_s;
    session.barrier->wait();
    run_on_rank(session, 0);
    session.barrier->wait();
    if (session.error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(session.error, text, &length);
        throw CommandError("SMPI refused the call: " + std::string(text));
    }
}

/** Ensures that the shared buffers are large enough for the call. */
void grow_buffers(Session &session) {
    const size_t bytes = buffer_bytes(session.call, session.p) + 1;
    session.input.grow(bytes);
    session.output.grow(bytes);
}

/** Runs the algorithm once before it is measured: some algorithms create communicators in their first call,
 * which takes simulated time. */
void warm_up(Session &session, const std::string &algorithm) {
    if (session.warmed_up.insert(std::string(session.call.collective->name) + " " + algorithm).second) {
        const Call call = session.call;
        session.call.count = 1;
        std::fill(session.call.counts.begin(), session.call.counts.end(), 1);
        grow_buffers(session);
        run_on_all_ranks(session, true);
        session.call = call;
    }
}

/** Selects the algorithm of a command and prepares its call. */
void prepare(Session &session, const Command &command) {
    session.call = parse_call(command, session.p);
    session.delays_s.assign(static_cast<size_t>(session.p), 0.0);
    const std::string algorithm = command.text("algorithm", "default");
    select_algorithm(session.call.collective->name, algorithm);
    warm_up(session, algorithm);
}

void run(Session &session, const Command &command) {
    const std::vector<double> delays_s = command.seconds("delays", static_cast<size_t>(session.p));
    prepare(session, command);
    session.delays_s = delays_s;
    grow_buffers(session);
    const double before_s = cpu_s();
    run_on_all_ranks(session, command.number("copies", 0) != 0);
    const double longest_s = *std::max_element(session.exits_s.begin(), session.exits_s.end());
    if (longest_s > max_credible_s) { // the clock has lost its precision: further times would be wrong
        std::fprintf(stderr, "error: SMPI's counts overflowed: the call would have taken %g s\n", longest_s);
        std::_Exit(1);
    }
    answer_times(session.arrivals_s, session.exits_s, cpu_s() - before_s);
}

void check(Session &session, const Command &command) {
    Command numbers = command;
    numbers.arguments["datatype"] = "int";
    numbers.arguments["op"] = "sum";
    prepare(session, numbers);
    Check result(session.call, session.p);
    session.check = &result;
    try {
        run_on_all_ranks(session, true);
    } catch (const CommandError &) {
        session.check = nullptr;
        throw;
    }
    session.check = nullptr;
    answer_wrong(result.count_wrong());
}

/** Executes one command; returns false for quit. */
bool dispatch(Session &session, const std::string &line) {
    try {
        const Command command = parse(line);
        if (command.verb == "run") {
            run(session, command);
        } else if (command.verb == "check") {
            check(session, command);
        } else if (command.verb == "algorithms") {
            answer_names(algorithms(command.text("collective")));
        } else if (command.verb == "hello") {
            int major = 0;
            int minor = 0;
            int patch = 0;
            sg_version_get(&major, &minor, &patch);
            answer_hello(std::to_string(major) + "." + std::to_string(minor), session.p);
        } else if (command.verb != "quit") {
            throw CommandError("unknown command '" + command.verb +
                               "'; known are run, check, algorithms, hello and quit");
        }
        return command.verb != "quit";
    } catch (const CommandError &error) {
        answer_error(error.what());
        return true;
    } catch (const std::bad_alloc &) {
        answer_error("there is not enough memory for this call");
        return true;
    }
}

} // namespace

void Buffer::grow(size_t bytes) {
    if (bytes > bytes_) {
        data_.reset(std::calloc(bytes, 1)); // calloc: pages of zeros need no memory until they are written
        if (!data_) {
            throw std::bad_alloc();
        }
        bytes_ = bytes;
    }
}

Session::Session(int processes)
    : p(processes), barrier(simgrid::s4u::Barrier::create(static_cast<unsigned>(processes))),
      arrivals_s(static_cast<size_t>(processes)), exits_s(static_cast<size_t>(processes)) {
}

void run_rank(Session &session, int rank) {
    MPI_Init(nullptr, nullptr);
    if (rank == 0) {
        std::optional<std::string> line;
        do {
            line = next_line();
        } while (line && dispatch(session, *line));
        session.is_finished = true;
        session.barrier->wait();
    } else {
        while (true) {
            session.barrier->wait();
            if (session.is_finished) {
                break;
            }
            run_on_rank(session, rank);
            session.barrier->wait();
        }
    }
    MPI_Finalize();
}

} // namespace offbeat::smpi
