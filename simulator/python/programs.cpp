#include "python/programs.hpp"

#include "schedule/check.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>
#include <variant>

namespace nb = nanobind;

namespace offbeat::python {

using schedule::Rank;
using schedule::Span;

namespace {

/** @name Numbers with a type of their own, so that one is not taken for another */
///@{
struct RequestHandle {
    schedule::Request number;
};
struct JointHandle {
    schedule::Joint number;
};
struct QueueHandle {
    schedule::CompletionQueue number;
};
///@}

using SpanOrSpans = std::variant<Span, std::vector<Span>>;
using RequestOrRequests = std::variant<RequestHandle, std::vector<RequestHandle>>;

/** A Rank in Python's hands: usable as long as its program is being written. */
struct OpenRank {
    Rank *rank = nullptr;

    /** Does something with the rank; its complaints become sentences that name it. */
    template <typename Action> auto with(Action action) -> decltype(action(*rank)) {
        if (rank == nullptr)
            throw std::invalid_argument("the program of this rank is finished");
        try {
            return action(*rank);
        } catch (const std::logic_error &mistake) {
            throw std::invalid_argument("rank " + std::to_string(rank->id) + ": " + mistake.what());
        }
    }
};

std::vector<Span> pieces(const SpanOrSpans &what) {
    if (const Span *one = std::get_if<Span>(&what))
        return {*one};
    return std::get<std::vector<Span>>(what);
}

std::vector<schedule::Request> numbers(const std::vector<RequestHandle> &requests) {
    std::vector<schedule::Request> all;
    for (const RequestHandle &request : requests)
        all.push_back(request.number);
    return all;
}

std::vector<schedule::Request> numbers(const RequestOrRequests &requests) {
    if (const RequestHandle *one = std::get_if<RequestHandle>(&requests))
        return {one->number};
    return numbers(std::get<std::vector<RequestHandle>>(requests));
}

/** span[a:b]: unlike Python's lists, a piece has no elements outside of itself. */
Span slice(const Span &span, const nb::slice &wanted) {
    const auto bound = [&](const char *name, int64_t otherwise) {
        const nb::object value = wanted.attr(name);
        if (value.is_none())
            return otherwise;
        const auto number = nb::cast<int64_t>(value);
        return number < 0 ? number + span.length : number;
    };
    const int64_t start = bound("start", 0);
    const int64_t stop = bound("stop", span.length);
    if (!wanted.attr("step").is_none())
        throw std::invalid_argument("a piece is made of elements that follow each other: no step");
    if (start < 0 || stop < start || stop > span.length)
        throw nb::index_error(("elements " + std::to_string(start) + " up to " + std::to_string(stop) +
                               " of a piece of " + std::to_string(span.length))
                                  .c_str());
    return span.part(start, stop - start);
}

std::string shown(const Span &span) {
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
        .def("__repr__", &shown)
        .def("part", &Span::part, nb::arg("offset"), nb::arg("length"),
             "`length` elements from `offset` on, counted from the start of this piece; not held against its "
             "length until the program is checked.")
        .def_ro("buffer", &Span::buffer, "0: input, 1: output, from 2 on: scratch.")
        .def_ro("offset", &Span::offset, "From the start of the buffer.")
        .def_ro("length", &Span::length);
    nb::class_<RequestHandle>(module, "Request", "A send or receive of one rank.");
    nb::class_<JointHandle>(module, "Joint", "A place in the task graph of one rank.");
    nb::class_<QueueHandle>(module, "CompletionQueue", "Where completions are told, whichever comes first.");
}

void bind_facts(nb::class_<OpenRank> &rank) {
    rank.def_prop_ro("collective",
                     [](OpenRank &open) {
                         return open.with([](Rank &r) { return schedule::name_of(r.call.collective); });
                     })
        .def_prop_ro("id", [](OpenRank &open) { return open.with([](Rank &r) { return r.id; }); })
        .def_prop_ro("p", [](OpenRank &open) { return open.with([](Rank &r) { return r.p; }); })
        .def_prop_ro("root", [](OpenRank &open) { return open.with([](Rank &r) { return r.call.root; }); })
        .def_prop_ro(
            "count", [](OpenRank &open) { return open.with([](Rank &r) { return r.call.count; }); },
            "Elements, as the MPI call states them.")
        .def_prop_ro("element_bytes",
                     [](OpenRank &open) { return open.with([](Rank &r) { return r.call.element_bytes; }); })
        .def_prop_ro("commutative",
                     [](OpenRank &open) { return open.with([](Rank &r) { return r.call.commutative; }); })
        .def(
            "node",
            [](OpenRank &open, int other) {
                return open.with([&](Rank &r) {
                    if (other < 0 || other >= r.p)
                        throw std::invalid_argument("there is no rank " + std::to_string(other));
                    return r.call.node(other);
                });
            },
            nb::arg("rank"), "The node of a rank.")
        .def_prop_ro(
            "input", [](OpenRank &open) { return open.with([](Rank &r) { return r.input(); }); },
            "The whole input; nothing where this rank has none.")
        .def_prop_ro(
            "output", [](OpenRank &open) { return open.with([](Rank &r) { return r.output(); }); },
            "The whole output; nothing where this rank has none.")
        .def(
            "scratch",
            [](OpenRank &open, int64_t length) {
                return open.with([&](Rank &r) { return r.scratch(length); });
            },
            nb::arg("length"), "A new buffer.");
}

template <auto Method> RequestHandle posted(OpenRank &open, int peer, const SpanOrSpans &what, int tag) {
    return open.with([&](Rank &r) { return RequestHandle{(r.*Method)(peer, pieces(what), tag)}; });
}

template <auto Method> void waited(OpenRank &open, int peer, const SpanOrSpans &what, int tag) {
    open.with([&](Rank &r) { (r.*Method)(peer, pieces(what), tag); });
}

void bind_messages(nb::class_<OpenRank> &rank) {
    rank.def("isend", &posted<&Rank::isend>, nb::arg("to"), nb::arg("what"), nb::arg("tag") = 0,
             "Posts a send of a piece, or of several as one message.")
        .def("issend", &posted<&Rank::issend>, nb::arg("to"), nb::arg("what"), nb::arg("tag") = 0,
             "Posts a send that is complete only when its receive is, at any size.")
        .def("irecv", &posted<&Rank::irecv>, nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0,
             "Posts a receive.")
        .def("send", &waited<&Rank::send>, nb::arg("to"), nb::arg("what"), nb::arg("tag") = 0)
        .def("ssend", &waited<&Rank::ssend>, nb::arg("to"), nb::arg("what"), nb::arg("tag") = 0)
        .def("recv", &waited<&Rank::recv>, nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0)
        .def(
            "sendrecv",
            [](OpenRank &open, int to, const SpanOrSpans &what, int source, const SpanOrSpans &into,
               int tag) {
                open.with([&](Rank &r) { r.sendrecv(to, pieces(what), source, pieces(into), tag); });
            },
            nb::arg("to"), nb::arg("what"), nb::arg("source"), nb::arg("into"), nb::arg("tag") = 0,
            "Posts the receive, then the send, and waits for both.")
        .def(
            "wait",
            [](OpenRank &open, const RequestOrRequests &requests) {
                open.with([&](Rank &r) { r.wait(numbers(requests)); });
            },
            nb::arg("requests"), "Waits for a request, or for all of several.")
        .def(
            "wait_all", [](OpenRank &open) { open.with([](Rank &r) { r.wait_all(); }); },
            "Waits for every request that nobody has waited for yet.");
}

void bind_work(nb::class_<OpenRank> &rank) {
    rank.def(
            "reduce",
            [](OpenRank &open, Span into, Span other, bool other_first) {
                const auto order = other_first ? schedule::Order::from_first : schedule::Order::into_first;
                open.with([&](Rank &r) { r.reduce(into, other, order); });
            },
            nb::arg("into"), nb::arg("other"), nb::kw_only(), nb::arg("other_first"),
            "into = other ∘ into where other_first (other holds lower ranks), else into ∘ other.")
        .def(
            "copy",
            [](OpenRank &open, Span into, Span source) { open.with([&](Rank &r) { r.copy(into, source); }); },
            nb::arg("into"), nb::arg("source"));
}

void bind_graph(nb::class_<OpenRank> &rank) {
    rank.def(
            "here", [](OpenRank &open) { return open.with([](Rank &r) { return JointHandle{r.here()}; }); },
            "The joint that is being written at.")
        .def(
            "at", [](OpenRank &open, JointHandle joint) { open.with([&](Rank &r) { r.at(joint.number); }); },
            nb::arg("joint"), "Go on writing at a joint made earlier.")
        .def(
            "when",
            [](OpenRank &open, const std::vector<RequestHandle> &requests,
               const std::vector<JointHandle> &joints) {
                std::vector<schedule::Joint> earlier;
                for (const JointHandle &joint : joints)
                    earlier.push_back(joint.number);
                return open.with([&](Rank &r) { return JointHandle{r.when(numbers(requests), earlier)}; });
            },
            nb::arg("requests"), nb::arg("joints") = std::vector<JointHandle>{},
            "A new joint that is reached when all these are; at() goes there.")
        .def(
            "completion_queue",
            [](OpenRank &open) {
                return open.with([](Rank &r) { return QueueHandle{r.completion_queue()}; });
            },
            "What MPI_Waitany loops do: the k-th pop() is reached when k of the requests that were told are "
            "complete.")
        .def(
            "tell",
            [](OpenRank &open, QueueHandle queue, RequestHandle request) {
                open.with([&](Rank &r) { r.tell(queue.number, request.number); });
            },
            nb::arg("queue"), nb::arg("request"))
        .def(
            "pop",
            [](OpenRank &open, QueueHandle queue) { open.with([&](Rank &r) { r.pop(queue.number); }); },
            nb::arg("queue"), "Goes on after the next completion.");
}

} // namespace

void write_program(const nb::callable &write, const schedule::Call &call, int rank,
                   schedule::Program &program) {
    Rank writer(call, rank, program);
    auto *open = new OpenRank{&writer};
    const nb::object handed = nb::cast(open, nb::rv_policy::take_ownership);
    struct Closing {
        OpenRank *open;
        ~Closing() {
            open->rank = nullptr;
        }
    } const closing{open};
    write(handed);
    writer.finish();
}

Programs::Programs(const std::string &collective, const nb::callable &write, int p, int root, int64_t count,
                   int64_t element_bytes, std::vector<int> node_of_rank, bool commutative)
    : owned(collective, p, root, count, element_bytes, std::move(node_of_rank), commutative) {
    for (int rank = 0; rank < p; ++rank)
        write_program(write, owned.call, rank, programs.emplace_back());
}

void bind_programs(nb::module_ &module) {
    bind_handles(module);
    nb::class_<OpenRank> rank(module, "Rank", "Writes down what one rank does; see Programs.");
    bind_facts(rank);
    bind_messages(rank);
    bind_work(rank);
    bind_graph(rank);
    nb::class_<Programs>(module, "Programs",
                         "An algorithm that is written in Python: `write` is called once with the Rank of "
                         "each rank. Whatever is open at its end is waited for.")
        .def(nb::init<const std::string &, const nb::callable &, int, int, int64_t, int64_t, std::vector<int>,
                      bool>(),
             nb::arg("collective"), nb::arg("write"), nb::arg("p"), nb::arg("root") = 0, nb::arg("count") = 1,
             nb::arg("element_bytes") = 1, nb::arg("node_of_rank") = std::vector<int>{},
             nb::arg("commutative") = true)
        .def_prop_ro("p", [](const Programs &self) { return self.owned.call.p; })
        .def(
            "check",
            [](const Programs &self, bool ordered) {
                const nb::gil_scoped_release unlocked;
                return schedule::check(self.programs, self.owned.call, ordered);
            },
            nb::arg("ordered") = false,
            "'' if the programs do what the call asks, else one sentence that says what is wrong. `ordered`: "
            "contributions must be combined in rank order.")
        .def(
            "messages", [](const Programs &self) { return drawn_messages(self.programs, self.owned.call); },
            "As messages() of the module.");
}

} // namespace offbeat::python
