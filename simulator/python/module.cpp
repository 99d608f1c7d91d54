/** @file The Python module offbeat._simulator: one file per part. */
#include "python/bindings.hpp"

NB_MODULE(_simulator, module) {
    module.doc() = "Algorithms of collectives as schedules, checked and simulated.";
    offbeat::python::bind_catalogue(module);
    offbeat::python::bind_programs(module);
    offbeat::python::bind_check(module);
    offbeat::python::bind_network(module);
    offbeat::python::bind_evaluate(module);
    offbeat::python::bind_program_run(module);
}
