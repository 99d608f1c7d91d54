/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
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
    const int error = session.call.collective->run(session.call, input, output);
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
    if (session.warm_calls.insert(std::string(session.call.collective->name) + " " + algorithm).second) {
        const Call call = session.call;
        session.call.count = 1;
        std::fill(session.call.counts.begin(), session.call.counts.end(), 1);
        grow_buffers(session);
        run_on_all_ranks(session, true);
        session.call = call;
    }
}

/** Selects the algorithm of a command and prepares its call. */
void prepare(Session &session, const Command &command, const std::string &op) {
    session.call = parse_call(command, op, session.p);
    session.delays_s.assign(static_cast<size_t>(session.p), 0.0);
    const std::string algorithm = command.text("algorithm");
    select_algorithm(session.call.collective->name, algorithm);
    warm_up(session, algorithm);
}

void run(Session &session, const Command &command, offbeat_answer &answer) {
    const std::vector<double> delays_s = command.seconds("delays", static_cast<size_t>(session.p));
    prepare(session, command, command.text("op"));
    session.delays_s = delays_s;
    grow_buffers(session);
    const double before_s = cpu_s();
    run_on_all_ranks(session, command.number("copies") != 0);
    const double longest_s = *std::max_element(session.exits_s.begin(), session.exits_s.end());
    if (longest_s > max_credible_s) { // the clock has lost its precision: further times would be wrong
        std::fprintf(stderr, "error: SMPI's counts overflowed: the call would have taken %g s\n", longest_s);
        std::_Exit(1);
    }
    offbeat_answer_begin(&answer, command.verb());
    offbeat_answer_time(&answer, "cpu_s", cpu_s() - before_s);
    offbeat_answer_times(&answer, "arrivals", session.arrivals_s.data(), session.arrivals_s.size());
    offbeat_answer_times(&answer, "exits", session.exits_s.data(), session.exits_s.size());
}

void check(Session &session, const Command &command, offbeat_answer &answer) {
    prepare(session, command, "sum");
    Check result(session.call, session.p);
    session.check = &result;
    try {
        run_on_all_ranks(session, true);
    } catch (const CommandError &) {
        session.check = nullptr;
        throw;
    }
    session.check = nullptr;
    offbeat_answer_begin(&answer, command.verb());
    offbeat_answer_number(&answer, "wrong", result.count_wrong());
}

void list_algorithms(Session & /*session*/, const Command &command, offbeat_answer &answer) {
    const std::vector<std::string> names = algorithms(command.text("collective"));
    std::vector<const char *> texts;
    for (const std::string &name : names) {
        texts.push_back(name.c_str());
    }
    offbeat_answer_begin(&answer, command.verb());
    offbeat_answer_texts(&answer, "algorithms", texts.data(), texts.size());
}

void hello(Session &session, const Command &command, offbeat_answer &answer) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    sg_version_get(&major, &minor, &patch);
    const std::string version = std::to_string(major) + "." + std::to_string(minor);
    offbeat_answer_begin(&answer, command.verb());
    offbeat_answer_number(&answer, "protocol", OFFBEAT_PROTOCOL_VERSION);
    offbeat_answer_text(&answer, "simgrid", version.c_str());
    offbeat_answer_number(&answer, "p", session.p);
}

/** Executes one line; returns false for quit. */
bool dispatch(Session &session, const std::string &line, long number) {
    static const std::map<std::string, void (*)(Session &, const Command &, offbeat_answer &)> verbs = {
        {"run", run}, {"check", check}, {"algorithms", list_algorithms}, {"hello", hello}};
    offbeat_answer answer = {stdout, nullptr, 0};
    try {
        const Command command(line, number);
        const std::string verb = command.verb()->name;
        if (verb == "quit") {
            return false;
        }
        verbs.at(verb)(session, command, answer);
        offbeat_answer_end(&answer);
    } catch (const CommandError &error) {
        offbeat_answer_failure(&answer, error.what());
    } catch (const std::bad_alloc &) {
        offbeat_answer_failure(&answer, "there is not enough memory for this call");
    }
    return true;
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
        long number = 0;
        do {
            line = next_line(number);
        } while (line && dispatch(session, *line, number));
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
