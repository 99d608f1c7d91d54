#include "python/bindings.hpp"
#include "schedule/check.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace nb = nanobind;

namespace offbeat::python {

using schedule::Rank;
using schedule::Span;

namespace {

/** @name Numbers with types of their own, so that they are not mistaken for each other */
///@{
struct RequestHandle {
    schedule::Request number;
};
struct VertexHandle {
    schedule::Vertex number;
};
struct QueueHandle {
    schedule::CompletionQueue number;
};
///@}

using SpanOrSpans = std::variant<Span, std::vector<Span>>;
using RequestOrRequests = std::variant<RequestHandle, std::vector<RequestHandle>>;

/** A Rank for Python, which is valid while its program is being written. */
struct OpenRank {
    Rank *rank = nullptr;

    /** Calls a function with the rank; its exceptions become sentences with the number of the rank. */
    template <typename Action> auto with_rank(Action action) -> decltype(action(*rank)) {
        if (rank == nullptr)
            throw std::invalid_argument("the program of this rank is finished");
        try {
            return action(*rank);
        } catch (const std::logic_error &mistake) {
            throw std::invalid_argument("rank " + std::to_string(rank->id) + ": " + mistake.what());
        }
    }
};

/** A method or a property: calls `action` with the rank and the arguments. */
template <typename... Arguments, typename Action> auto method(Action action) {
    return [action](OpenRank &self, Arguments... arguments) {
        return self.with_rank([&](Rank &rank) { return std::invoke(action, rank, arguments...); });
    };
}

std::vector<Span> pieces(const SpanOrSpans &spans) {
    if (const Span *single = std::get_if<Span>(&spans))
        return {*single};
    return std::get<std::vector<Span>>(spans);
}

template <typename Handle> std::vector<uint32_t> numbers(const std::vector<Handle> &handles) {
    std::vector<uint32_t> numbers;
    for (const Handle &handle : handles)
        numbers.push_back(handle.number);
    return numbers;
}

std::vector<schedule::Request> numbers(const RequestOrRequests &requests) {
    if (const RequestHandle *single = std::get_if<RequestHandle>(&requests))
        return {single->number};
    return numbers(std::get<std::vector<RequestHandle>>(requests));
}

/** span[a:b]: unlike slices of Python's lists, indices beyond the piece are errors. */
Span slice(const Span &span, const nb::slice &elements) {
    const auto bound = [&](const char *name, int64_t default_value) {
        const nb::object value = elements.attr(name);
        if (value.is_none())
            return default_value;
        const auto number = nb::cast<int64_t>(value);
        return number < 0 ? number + span.length : number;
    };
    const int64_t start = bound("start", 0);
    const int64_t stop = bound("stop", span.length);
    if (!elements.attr("step").is_none())
        throw std::invalid_argument("a piece has consecutive elements: no step");
    if (start < 0 || stop < start || stop > span.length)
        throw nb::index_error(("elements " + std::to_string(start) + " up to " + std::to_string(stop) +
                               " of a piece of " + std::to_string(span.length))
                                  .c_str());
    return span.part(start, stop - start);
}

std::string representation(const Span &span) {
    const std::string buffer = span.buffer == schedule::input_buffer ? "input"
                               : span.buffer == schedule::output_buffer
                                   ? "output"
                                   : "scratch " + std::to_string(span.buffer - 2);
    return "<" + buffer + " " + std::to_string(span.offset) + ":" +
           std::to_string(span.offset + span.length) + ">";
}

void bind_handles(nb::module_ &module) {
    nb::class_<Span>(module, "Span", "A piece of a buffer, in elements: span[a:b] is a part of it.")
        .def("__len__", [](const Span &span) { return span.length; })
        .def("__getitem__", &slice, nb::arg("elements"))
        .def("__repr__", &representation)
        .def("part", &Span::part, nb::arg("offset"), nb::arg("length"),
             "`length` elements from `offset` on, counted from the start of this piece; not checked against "
             "its "
             "length until the program is checked.")
        .def_ro("buffer", &Span::buffer, "0: input, 1: output, from 2 on: scratch.")
        .def_ro("offset", &Span::offset, "From the start of the buffer.")
        .def_ro("length", &Span::length);
    nb::class_<RequestHandle>(module, "Request", "A send or receive of one rank.");
    nb::class_<VertexHandle>(module, "Vertex", "A vertex of the task graph of one rank.");
    nb::class_<QueueHandle>(module, "CompletionQueue",
                            "A queue of completions, in the order in which they happen.");
}

void bind_call(nb::class_<OpenRank> &rank) {
    rank.def_prop_ro("collective", method([](Rank &r) { return schedule::name_of(r.call.collective); }))
        .def_prop_ro("id", method(&Rank::id))
        .def_prop_ro("p", method(&Rank::p))
        .def_prop_ro("root", method([](Rank &r) { return r.call.root; }))
        .def_prop_ro("count", method([](Rank &r) { return r.call.count; }),
                     "Elements, as the MPI call states them.")
        .def_prop_ro("element_bytes", method([](Rank &r) { return r.call.element_bytes; }))
        .def_prop_ro("commutative", method([](Rank &r) { return r.call.commutative; }))
        .def("node", method<int>([](Rank &r, int number) {
                 if (number < 0 || number >= r.p)
                     throw std::invalid_argument("there is no rank " + std::to_string(number));
                 return r.call.node(number);
             }),
             nb::arg("rank"), "The node of a rank.")
        .def_prop_ro("input", method(&Rank::input), "The input; empty if this rank has none.")
        .def_prop_ro("output", method(&Rank::output), "The output; empty if this rank has none.")
        .def("scratch", method<int64_t>(&Rank::scratch), nb::arg("length"), "A new buffer.");
}

template <auto Method> RequestHandle post(OpenRank &self, int peer, const SpanOrSpans &data, int tag) {
    return self.with_rank([&](Rank &r) { return RequestHandle{(r.*Method)(peer, pieces(data), tag)}; });
}

template <auto Method> void post_and_wait(OpenRank &self, int peer, const SpanOrSpans &data, int tag) {
    self.with_rank([&](Rank &r) { (r.*Method)(peer, pieces(data), tag); });
}

void bind_messages(nb::class_<OpenRank> &rank) {
    rank.def("isend", &post<&Rank::isend>, nb::arg("to"), nb::arg("data"), nb::arg("tag") = 0,
             "Posts a send of a piece, or of several as one message.")
        .def("issend", &post<&Rank::issend>, nb::arg("to"), nb::arg("data"), nb::arg("tag") = 0,
             "Posts a send that is complete only when its receive is, at any size.")
        .def("irecv", &post<&Rank::irecv>, nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0,
             "Posts a receive.")
        .def("send", &post_and_wait<&Rank::send>, nb::arg("to"), nb::arg("data"), nb::arg("tag") = 0)
        .def("ssend", &post_and_wait<&Rank::ssend>, nb::arg("to"), nb::arg("data"), nb::arg("tag") = 0)
        .def("recv", &post_and_wait<&Rank::recv>, nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0)
        .def("sendrecv",
             method<int, const SpanOrSpans &, int, const SpanOrSpans &, int>(
                 [](Rank &r, int target, const SpanOrSpans &data, int source, const SpanOrSpans &destination,
                    int tag) { r.sendrecv(target, pieces(data), source, pieces(destination), tag); }),
             nb::arg("to"), nb::arg("data"), nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0,
             "Posts the receive, then the send, and waits for both.")
        .def("wait", method<const RequestOrRequests &>([](Rank &r, const RequestOrRequests &requests) {
                 r.wait(numbers(requests));
             }),
             nb::arg("requests"), "Waits for a request, or for all of several.")
        .def("wait_all", method(&Rank::wait_all), "Waits for all requests that were not waited for yet.");
}

void bind_local_operations(nb::class_<OpenRank> &rank) {
    rank.def("reduce",
             method<Span, Span, bool>([](Rank &r, Span destination, Span source, bool source_first) {
                 r.reduce(destination, source,
                          source_first ? schedule::Order::from_first : schedule::Order::into_first);
             }),
             nb::arg("into"), nb::arg("other"), nb::kw_only(), nb::arg("other_first"),
             "into = other ∘ into where other_first (other holds lower ranks), else into ∘ other.")
        .def("copy", method<Span, Span>(&Rank::copy), nb::arg("into"), nb::arg("source"));
}

void bind_graph(nb::class_<OpenRank> &rank) {
    rank.def("current_vertex", method([](Rank &r) { return VertexHandle{r.current_vertex()}; }),
             "The vertex to which operations are added.")
        .def("continue_at",
             method<VertexHandle>([](Rank &r, VertexHandle vertex) { r.continue_at(vertex.number); }),
             nb::arg("vertex"), "Makes an earlier vertex the current one.")
        .def("vertex_after",
             method<const std::vector<RequestHandle> &, const std::vector<VertexHandle> &>(
                 [](Rank &r, const std::vector<RequestHandle> &requests,
                    const std::vector<VertexHandle> &vertices) {
                     return VertexHandle{r.vertex_after(numbers(requests), numbers(vertices))};
                 }),
             nb::arg("requests"), nb::arg("vertices") = std::vector<VertexHandle>{},
             "A new vertex that fires when all these requests are complete and vertices have fired; "
             "continue_at() makes it current.")
        .def("completion_queue", method([](Rank &r) { return QueueHandle{r.completion_queue()}; }),
             "What MPI_Waitany loops do: the k-th pop() waits until k of the enqueued requests are complete.")
        .def("enqueue",
             method<QueueHandle, RequestHandle>([](Rank &r, QueueHandle queue, RequestHandle request) {
                 r.enqueue(queue.number, request.number);
             }),
             nb::arg("queue"), nb::arg("request"))
        .def("pop", method<QueueHandle>([](Rank &r, QueueHandle queue) { r.pop(queue.number); }),
             nb::arg("queue"), "Waits for the next completion.");
}

} // namespace

void write_program(const nb::callable &write, const schedule::Call &call, int rank,
                   schedule::Program &program) {
    Rank writer(call, rank, program);
    auto *handle = new OpenRank{&writer};
    const nb::object argument = nb::cast(handle, nb::rv_policy::take_ownership);
    struct Invalidation {
        OpenRank *handle;
        ~Invalidation() {
            handle->rank = nullptr;
        }
    } const invalidation{handle};
    write(argument);
    writer.finish();
}

Programs::Programs(const std::string &collective, const nb::callable &write, int p, int root, int64_t count,
                   int64_t element_bytes, std::vector<int> node_of_rank, bool commutative)
    : owned_call(collective, p, root, count, element_bytes, std::move(node_of_rank), commutative) {
    for (int rank = 0; rank < p; ++rank)
        write_program(write, owned_call.call, rank, programs.emplace_back());
}

void bind_programs(nb::module_ &module) {
    bind_handles(module);
    nb::class_<OpenRank> rank(module, "Rank", "Writes the program of one rank; see Programs.");
    bind_call(rank);
    bind_messages(rank);
    bind_local_operations(rank);
    bind_graph(rank);
    nb::class_<Programs>(module, "Programs",
                         "An algorithm that is written in Python: `write` is called once with the Rank of "
                         "each rank. Open requests are waited for at its end.")
        .def(nb::init<const std::string &, const nb::callable &, int, int, int64_t, int64_t, std::vector<int>,
                      bool>(),
             nb::arg("collective"), nb::arg("write"), nb::arg("p"), nb::arg("root") = 0, nb::arg("count") = 1,
             nb::arg("element_bytes") = 1, nb::arg("node_of_rank") = std::vector<int>{},
             nb::arg("commutative") = true)
        .def_prop_ro("p", [](const Programs &self) { return self.owned_call.call.p; })
        .def(
            "check",
            [](const Programs &self, bool is_ordered) {
                const nb::gil_scoped_release gil_release;
                return schedule::check(self.programs, self.owned_call.call, is_ordered);
            },
            nb::arg("ordered") = false,
            "'' if the programs compute the call, otherwise one sentence that describes the failure. "
            "`ordered`: "
            "contributions must be combined in rank order.")
        .def(
            "messages",
            [](const Programs &self) { return messages_as_arrays(self.programs, self.owned_call.call); },
            "As messages() of the module.");
}

} // namespace offbeat::python
