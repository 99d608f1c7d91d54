/** @file What module.cpp puts together. */
#pragma once

#include <nanobind/nanobind.h>

namespace offbeat::python {

/** algorithms() */
void bind_catalogue(nanobind::module_ &module);
/** check(), messages() */
void bind_check(nanobind::module_ &module);
/** Schedule, Network, evaluate() */
void bind_evaluate(nanobind::module_ &module);

} // namespace offbeat::python
