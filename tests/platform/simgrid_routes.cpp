/** Prints every route of a SimGrid platform, a line each: source, target, latency, names of links in order.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sg4 = simgrid::s4u;

int main(int argc, char **argv) {
    sg4::Engine engine(&argc, argv);
    engine.load_platform(argv[1]);
    auto hosts = engine.get_all_hosts();
    const auto number = [](const sg4::Host *host) { return std::atoi(host->get_cname()); };
    std::sort(hosts.begin(), hosts.end(),
              [&](auto *one, auto *other) { return number(one) < number(other); });
    for (const auto *from : hosts)
        for (const auto *to : hosts) {
            if (from == to)
                continue;
            std::vector<sg4::Link *> links;
            double latency_s = 0;
            from->route_to(to, links, &latency_s);
            std::printf("%d %d %.9g", number(from), number(to), latency_s);
            for (const auto *link : links)
                std::printf(" %s", link->get_cname());
            std::printf("\n");
        }
    return 0;
}
