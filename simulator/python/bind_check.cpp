#include "python/bindings.hpp"

namespace offbeat::python {

void bind_check(nanobind::module_ & /*module*/) {
}

} // namespace offbeat::python
