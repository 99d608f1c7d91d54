/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * offbeat-smpi: simulates collective calls with SimGrid's SMPI, many of them in one process.
 *
 *     offbeat-smpi PLATFORM.xml HOSTS [--cfg=OPTION:VALUE ...]
 *
 * HOSTS is a file with the host of each rank, one per line. The worklist is read from standard input: see
 * worklist.hpp. SimGrid's own messages go to standard error.
 */
#include "rank.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/version.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr const char *instance = "offbeat";
const std::string setting_option = "--cfg=";

/** Settings with which SMPI's times depend on the call alone; those of the command line follow them. */
const std::vector<std::string> default_settings = {
    "network/model:SMPI",
    "network/optim:Full", // with the default, Lazy, times depend on previous calls
#if SIMGRID_VERSION >= 33300
    "precision/timing:1e-9",
#else
    "surf/precision:1e-9",
#endif
    "smpi/simulate-computation:no", "smpi/errors-are-fatal:no",
};

std::vector<simgrid::s4u::Host *> hosts_of_ranks(const simgrid::s4u::Engine &engine, const char *path) {
    std::ifstream file(path);
    std::vector<simgrid::s4u::Host *> hosts;
    for (std::string name; file >> name;) {
        simgrid::s4u::Host *host = engine.host_by_name_or_null(name);
        if (host == nullptr) {
            std::fprintf(stderr, "offbeat-smpi: %s names the host '%s', which is not in the platform\n", path,
                         name.c_str());
            return {};
        }
        hosts.push_back(host);
    }
    if (hosts.empty()) {
        std::fprintf(stderr, "offbeat-smpi: %s names no hosts\n", path);
    }
    return hosts;
}

} // namespace

int main(int argc, char **argv) {
    // SimGrid removes --log from these arguments. Settings are applied after SMPI_init, which sets some
    // itself.
    std::string log_threshold = "--log=root.thresh:warning";
    std::string log_output = "--log=root.app:stderr";
    std::vector<char *> arguments = {argv[0], log_threshold.data(), log_output.data()};
    std::vector<std::string> settings = default_settings;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument.rfind(setting_option, 0) == 0) {
            settings.push_back(argument.substr(setting_option.size()));
        } else {
            arguments.push_back(argv[i]);
        }
    }
    arguments.push_back(nullptr);
    int count = static_cast<int>(arguments.size()) - 1;
    simgrid::s4u::Engine engine(&count, arguments.data());
    if (count != 3) {
        std::fprintf(stderr, "usage: offbeat-smpi PLATFORM.xml HOSTS [--cfg=OPTION:VALUE ...]\n");
        return 2;
    }
    SMPI_init();
    for (const std::string &setting : settings) {
        simgrid::s4u::Engine::set_config(setting);
    }
    engine.load_platform(arguments[1]);
    const std::vector<simgrid::s4u::Host *> hosts = hosts_of_ranks(engine, arguments[2]);
    if (hosts.empty()) {
        return 2;
    }
    const int p = static_cast<int>(hosts.size());
    SMPI_app_instance_register(instance, nullptr, p);
    offbeat::smpi::Session session(p);
    for (int rank = 0; rank < p; rank++) {
        const std::string number = std::to_string(rank);
        const auto actor = simgrid::s4u::Actor::init(number, hosts[static_cast<size_t>(rank)]);
        actor->set_property("instance_id", instance);
        actor->set_property("rank", number);
        actor->start([&session, rank] { offbeat::smpi::run_rank(session, rank); });
    }
    engine.run();
    SMPI_finalize();
    return 0;
}
