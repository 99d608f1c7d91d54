/** @file What module.cpp puts together. */
#pragma once

#include <nanobind/nanobind.h>

namespace offbeat::python {

/** algorithms() */
void bind_catalogue(nanobind::module_ &module);
/** check(), messages(), Programs; and those of the next one */
void bind_check(nanobind::module_ &module);
/** check_range(), check_written() */
void bind_check_range(nanobind::module_ &module);
/** preview() */
void bind_preview(nanobind::module_ &module);
/** Network, and the topologies that it stands on */
void bind_network(nanobind::module_ &module);
/** Schedule, evaluate() */
void bind_evaluate(nanobind::module_ &module);

} // namespace offbeat::python
