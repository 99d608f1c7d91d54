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

// Of SimGrid's library, but of no header: what SMPI keeps for each process.
namespace simgrid::smpi {
class XBT_PUBLIC ActorExt {
  public:
    static simgrid::xbt::Extension<simgrid::s4u::Actor, ActorExt> EXTENSION_ID;
    void set_replaying(bool value);
};
} // namespace simgrid::smpi

namespace offbeat::smpi {

namespace {

/** Whether messages of the calling process carry data. As in SMPI's replay of traces, times are the same
 * without. */
void carry_data(bool carries) {
    simgrid::s4u::Actor::self()->extension<simgrid::smpi::ActorExt>()->set_replaying(!carries);
}

/** Between the moment at which all are told of a call and its start. */
constexpr double lead_s = 1e-3;

/** A call that takes longer is one with messages of negative size, which are taken for very long ones. */
constexpr double unbelievable_s = 1e7;

double clock_s() {
    return simgrid::s4u::Engine::get_clock();
}

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/** One call by one rank, from the common start on. */
void take_part(Session &session, int rank) {
    const size_t me = static_cast<size_t>(rank);
    const double delay_s = session.delays_s[me];
    void *input = session.check ? session.check->input(rank) : session.input.data();
    void *output = session.check ? session.check->output(rank) : session.output.data();
    simgrid::s4u::this_actor::sleep_until(session.start_s + delay_s);
    session.arrivals_s[me] = clock_s() - session.start_s;
    carry_data(session.with_data);
    const int error = make(session.call, input, output);
    session.exits_s[me] = clock_s() - session.start_s;
    carry_data(true); // making communicators needs data, and so does ending
    if (error != MPI_SUCCESS) {
        session.error = error;
    }
}

/** Rank 0 takes part in a call that all others wait for, and comes back when all have left it. */
void conduct(Session &session, bool with_data) {
    session.with_data = with_data;
    session.error = MPI_SUCCESS;
    session.start_s = clock_s() + lead_s;
    session.barrier->wait();
    take_part(session, 0);
    session.barrier->wait();
    if (session.error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(session.error, text, &length);
        throw Fault("SMPI refused the call: " + std::string(text));
    }
}

/** Room for a call with one buffer for all ranks. */
void grow_buffers(Session &session) {
    const size_t bytes = buffer_bytes(session.call, session.p) + 1;
    session.input.grow(bytes);
    session.output.grow(bytes);
}

/** Some algorithms make communicators at their first call, in simulated time; which must not count. */
void warm_up(Session &session, const std::string &algorithm) {
    if (session.warmed.insert(session.call.collective + " " + algorithm).second) {
        const Call call = session.call;
        session.call.count = 1;
        std::fill(session.call.counts.begin(), session.call.counts.end(), 1);
        grow_buffers(session);
        conduct(session, true);
        session.call = call;
    }
}

/** The call and the algorithm of a command, which is ready to be conducted afterwards. */
void prepare(Session &session, const Command &command) {
    session.call = call_of(command, session.p);
    session.delays_s.assign(static_cast<size_t>(session.p), 0.0);
    const std::string algorithm = command.text("algorithm", "default");
    choose(session.call.collective, algorithm);
    warm_up(session, algorithm);
}

void run(Session &session, const Command &command) {
    const std::vector<double> delays_s = command.seconds("delays", static_cast<size_t>(session.p));
    prepare(session, command);
    session.delays_s = delays_s;
    grow_buffers(session);
    const double before_s = cpu_s();
    conduct(session, command.number("copies", 0) != 0);
    const double longest_s = *std::max_element(session.exits_s.begin(), session.exits_s.end());
    if (longest_s > unbelievable_s) { // the clock has lost its digits, so nothing can go on from here
        std::fprintf(stderr, "error: SMPI's counts overflowed: the call would have taken %g s\n", longest_s);
        std::_Exit(1);
    }
    answer_times(session.arrivals_s, session.exits_s, cpu_s() - before_s);
}

void check(Session &session, const Command &command) {
    Command numbers = command;
    numbers.words["datatype"] = "int";
    numbers.words["op"] = "sum";
    prepare(session, numbers);
    Check all(session.call, session.p);
    session.check = &all;
    try {
        conduct(session, true);
    } catch (const Fault &) {
        session.check = nullptr;
        throw;
    }
    session.check = nullptr;
    answer_wrong(all.wrong());
}

/** Carries out one command; false for the last one. */
bool obey(Session &session, const std::string &line) {
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
            throw Fault("there is no command '" + command.verb +
                        "'; there are run, check, algorithms, hello and quit");
        }
        return command.verb != "quit";
    } catch (const Fault &fault) {
        answer_fault(fault.what());
        return true;
    } catch (const std::bad_alloc &) {
        answer_fault("there is not enough memory for this call");
        return true;
    }
}

} // namespace

void Buffer::grow(size_t bytes) {
    if (bytes > bytes_) {
        data_.reset(
            std::calloc(bytes, 1)); // not malloc: pages of zeros need no memory until they are written
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
        } while (line && obey(session, *line));
        session.over = true;
        session.barrier->wait();
    } else {
        while (true) {
            session.barrier->wait();
            if (session.over) {
                break;
            }
            take_part(session, rank);
            session.barrier->wait();
        }
    }
    MPI_Finalize();
}

} // namespace offbeat::smpi
