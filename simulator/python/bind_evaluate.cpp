#include "python/bindings.hpp"

namespace offbeat::python {

void bind_evaluate(nanobind::module_ & /*module*/) {
}

} // namespace offbeat::python
