/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>

// SimGrid's library exports the functions that select its algorithms, but no header declares them.
namespace simgrid::smpi::colls {
void set_allgather(const std::string &name);
void set_allreduce(const std::string &name);
void set_alltoall(const std::string &name);
void set_barrier(const std::string &name);
void set_bcast(const std::string &name);
void set_gather(const std::string &name);
void set_reduce(const std::string &name);
void set_reduce_scatter(const std::string &name);
void set_scatter(const std::string &name);
} // namespace simgrid::smpi::colls

namespace offbeat::smpi {

namespace {

// The MPI call by the column `signature` of the table of collectives.

template <auto function> int run_EXCHANGE(const Call &call, void *input, void *output) {
    return function(input, call.count, call.datatype, output, call.count, call.datatype, MPI_COMM_WORLD);
}

template <auto function> int run_ALLREDUCE(const Call &call, void *input, void *output) {
    return function(input, output, call.count, call.datatype, call.op, MPI_COMM_WORLD);
}

template <auto function> int run_BARRIER(const Call & /*call*/, void * /*input*/, void * /*output*/) {
    return function(MPI_COMM_WORLD);
}

template <auto function> int run_BCAST(const Call &call, void * /*input*/, void *output) {
    return function(output, call.count, call.datatype, call.root, MPI_COMM_WORLD);
}

template <auto function> int run_GATHER(const Call &call, void *input, void *output) {
    return function(input, call.count, call.datatype, output, call.count, call.datatype, call.root,
                    MPI_COMM_WORLD);
}

template <auto function> int run_SCATTER(const Call &call, void *input, void *output) {
    return run_GATHER<function>(call, input, output);
}

template <auto function> int run_REDUCE(const Call &call, void *input, void *output) {
    return function(input, output, call.count, call.datatype, call.op, call.root, MPI_COMM_WORLD);
}

template <auto function> int run_REDUCE_SCATTER(const Call &call, void *input, void *output) {
    return function(input, output, call.counts.data(), call.datatype, call.op, MPI_COMM_WORLD);
}

#define OFFBEAT_COLLECTIVE(Name, name, signature, sent_blocks, received_blocks, result, root, counts)        \
    {#name,      Blocks::sent_blocks, Blocks::received_blocks,    Result::result,                            \
     Root::root, Counts::counts,      run_##signature<MPI_##Name>},
const Collective collectives[] = {
#include "collectives/collectives.def"
};

const Collective &find_collective(const std::string &name) {
    for (const Collective &collective : collectives) {
        if (name == collective.name) {
            return collective;
        }
    }
    throw CommandError("SMPI has no collective '" + name + "'");
}

/** The content of outputs before the call. */
constexpr uint32_t unwritten = 0xC0FFEE;

/** A collective whose algorithm can be selected in SMPI. */
struct Selector {
    void (*set)(const std::string &name);
    const char *parameters; /**< of each algorithm's function, mangled as in its symbol */
    std::vector<const char *> names;
};

const std::map<std::string, Selector> &selectors() {
    namespace colls = simgrid::smpi::colls;
    static const std::map<std::string, Selector> selectors = {
        {"allgather",
         {colls::set_allgather,
          "PKviPNS0_8DatatypeEPviS4_PNS0_4CommE",
          {"2dmesh", "3dmesh", "GB", "NTSLR", "NTSLR_NB", "SMP_NTS", "bruck", "loosely_lr", "mvapich2_smp",
           "ompi_neighborexchange", "pair", "rdb", "rhv", "ring", "smp_simple", "spreading_simple"}}},
        {"allreduce",
         {colls::set_allreduce,
          "PKvPviPNS0_8DatatypeEPNS0_2OpEPNS0_4CommE",
          {"lr", "mvapich2_rs", "mvapich2_two_level", "ompi_ring_segmented", "rab", "rab1", "rab2", "rab_rdb",
           "rdb", "redbcast", "smp_binomial", "smp_binomial_pipeline", "smp_rdb", "smp_rsag", "smp_rsag_lr",
           "smp_rsag_rab"}}},
        {"alltoall",
         {colls::set_alltoall,
          "PKviPNS0_8DatatypeEPviS4_PNS0_4CommE",
          {"2dmesh", "3dmesh", "basic_linear", "bruck", "mvapich2_scatter_dest", "pair", "pair_light_barrier",
           "pair_mpi_barrier", "pair_one_barrier", "pair_rma", "rdb", "ring", "ring_light_barrier",
           "ring_mpi_barrier", "ring_one_barrier"}}},
        {"barrier",
         {colls::set_barrier,
          "PNS0_4CommE",
          {"mpich_smp", "mvapich2_pair", "ompi_basic_linear", "ompi_bruck", "ompi_doublering",
           "ompi_recursivedoubling", "ompi_tree", "ompi_two_procs"}}},
        {"bcast",
         {colls::set_bcast,
          "PviPNS0_8DatatypeEiPNS0_4CommE",
          {"NTSB", "NTSL", "NTSL_Isend", "SMP_binary", "SMP_binomial", "SMP_linear", "arrival_pattern_aware",
           "arrival_pattern_aware_wait", "arrival_scatter", "binomial_tree", "flattree", "flattree_pipeline",
           "mvapich2_inter_node", "mvapich2_intra_node", "mvapich2_knomial_intra_node", "ompi_pipeline",
           "ompi_split_bintree", "scatter_LR_allgather", "scatter_rdb_allgather"}}},
        {"gather",
         {colls::set_gather,
          "PKviPNS0_8DatatypeEPviS4_iPNS0_4CommE",
          {"mvapich2_two_level", "ompi_basic_linear", "ompi_binomial", "ompi_linear_sync"}}},
        {"reduce",
         {colls::set_reduce,
          "PKvPviPNS0_8DatatypeEPNS0_2OpEiPNS0_4CommE",
          {"NTSL", "arrival_pattern_aware", "binomial", "flat_tree", "mvapich2_knomial", "mvapich2_two_level",
           "ompi_basic_linear", "ompi_binary", "ompi_binomial", "ompi_chain", "ompi_in_order_binary",
           "ompi_pipeline", "rab", "scatter_gather"}}},
        {"reduce_scatter",
         {colls::set_reduce_scatter,
          "PKvPvPKiPNS0_8DatatypeEPNS0_2OpEPNS0_4CommE",
          {"mpich_noncomm", "mpich_pair", "mpich_rdb", "ompi_basic_recursivehalving", "ompi_butterfly",
           "ompi_ring"}}},
        {"scatter",
         {colls::set_scatter,
          "PKviPNS0_8DatatypeEPviS4_iPNS0_4CommE",
          {"mvapich2_two_level_binomial", "mvapich2_two_level_direct", "ompi_basic_linear", "ompi_binomial",
           "ompi_linear_nb"}}},
    };
    return selectors;
}

/** Whether this SimGrid has the algorithm's function; selecting a missing algorithm would end the process. */
bool exists(const std::string &collective, const std::string &algorithm, const char *parameters) {
    const std::string function = collective + "__" + algorithm;
    const std::string symbol =
        "_ZN7simgrid4smpi" + std::to_string(function.size()) + function + "E" + parameters;
    return dlsym(RTLD_DEFAULT, symbol.c_str()) != nullptr;
}

struct ElementType {
    MPI_Datatype datatype;
    int64_t bytes;
    bool is_floating_point = false; /**< has no bitwise operations */
};

ElementType parse_datatype(const std::string &name) {
    const std::map<std::string, ElementType> elements = {
        {"byte", {MPI_BYTE, 1}},         {"char", {MPI_CHAR, 1}},           {"int8", {MPI_INT8_T, 1}},
        {"short", {MPI_SHORT, 2}},       {"int16", {MPI_INT16_T, 2}},       {"int", {MPI_INT, 4}},
        {"int32", {MPI_INT32_T, 4}},     {"int64", {MPI_INT64_T, 8}},       {"long", {MPI_LONG, 8}},
        {"float", {MPI_FLOAT, 4, true}}, {"double", {MPI_DOUBLE, 8, true}},
    };
    const auto entry = elements.find(name);
    if (entry == elements.end()) {
        throw CommandError("unknown datatype '" + name +
                           "'; known are byte, char, int8, int16, int32,"
                           " int64, short, int, long, float and double");
    }
    return entry->second;
}

MPI_Op parse_operation(const std::string &name) {
    const std::map<std::string, MPI_Op> operations = {
        {"sum", MPI_SUM},   {"prod", MPI_PROD}, {"max", MPI_MAX},   {"min", MPI_MIN},
        {"band", MPI_BAND}, {"bor", MPI_BOR},   {"bxor", MPI_BXOR},
    };
    const auto entry = operations.find(name);
    if (entry == operations.end()) {
        throw CommandError("unknown operation '" + name +
                           "'; known are sum, prod, max, min, band, bor, bxor");
    }
    return entry->second;
}

/** SMPI computes the number of elements of all blocks of a buffer in int, and does not check for overflow. */
void check_count(const std::string &collective, const std::string &algorithm, int64_t count, int64_t p) {
    int64_t blocks = p;
    const auto ranks = static_cast<double>(p);
    if (collective == "alltoall" &&
        algorithm == "rdb") { // its buffer has the blocks of all pairs of processes
        blocks = p * p;
    } else if (collective == "alltoall" &&
               algorithm == "2dmesh") { // the blocks that pass through a row of its mesh
        blocks = p * static_cast<int64_t>(std::sqrt(ranks));
    } else if (collective == "alltoall" && algorithm == "3dmesh") { // through a plane of its mesh
        blocks = p * static_cast<int64_t>(std::cbrt(ranks * ranks));
    }
    if (count > INT_MAX / blocks) {
        throw CommandError("SMPI cannot count so many elements: choose a larger datatype, or fewer bytes");
    }
}

} // namespace

Call parse_call(const Command &command, const std::string &op, int p) {
    Call call;
    call.collective = &find_collective(command.text("collective"));
    const ElementType element = parse_datatype(command.text("datatype"));
    call.datatype = element.datatype;
    call.op = parse_operation(!op.empty() ? op : element.is_floating_point ? "sum" : "bor");
    const int64_t bytes = command.number("bytes");
    if (bytes % element.bytes != 0) {
        throw CommandError("bytes=" + std::to_string(bytes) + " is not a whole number of elements of " +
                           std::to_string(element.bytes) + " bytes");
    }
    check_count(call.collective->name, command.text("algorithm"), bytes / element.bytes, p);
    call.count = static_cast<int>(bytes / element.bytes);
    const int64_t root = command.number("root");
    if (root >= p) {
        throw CommandError("root=" + std::to_string(root) + " is not one of the " + std::to_string(p) +
                           " processes");
    }
    call.root = static_cast<int>(root);
    const bool has_counts = call.collective->counts == Counts::UNEVEN_COUNTS;
    call.counts.assign(has_counts ? static_cast<size_t>(p) : 0, call.count);
    return call;
}

size_t buffer_bytes(const Call &call, int p) {
    int element = 1;
    MPI_Type_size(call.datatype, &element);
    const bool has_blocks = call.collective->sent_blocks == Blocks::BLOCK_PER_RANK ||
                            call.collective->received_blocks == Blocks::BLOCK_PER_RANK;
    return static_cast<size_t>(call.count) * static_cast<size_t>(element) *
           (has_blocks ? static_cast<size_t>(p) : 1);
}

std::vector<std::string> algorithms(const std::string &collective) {
    std::vector<std::string> names;
    const auto entry = selectors().find(collective);
    if (entry != selectors().end()) {
        for (const char *name : entry->second.names) {
            if (exists(collective, name, entry->second.parameters)) {
                names.emplace_back(name);
            }
        }
    }
    return names;
}

void select_algorithm(const std::string &collective, const std::string &algorithm) {
    const auto entry = selectors().find(collective);
    if (entry == selectors().end() && algorithm != "default") {
        throw CommandError("SMPI has a single algorithm for " + collective + ", default, and no '" +
                           algorithm + "'");
    }
    if (entry != selectors().end() && !exists(collective, algorithm, entry->second.parameters)) {
        throw CommandError("this SimGrid has no algorithm '" + algorithm + "' for " + collective);
    }
    for (const auto &[name, selector] : selectors()) { // algorithms may call other collectives
        selector.set(name == collective ? algorithm : "default");
    }
}

// --- the check of a result ---

Check::Check(const Call &call, int p)
    : call_(call), p_(p), length_(buffer_bytes(call, p) / sizeof(uint32_t)),
      inputs_(length_ * static_cast<size_t>(p)), outputs_(length_ * static_cast<size_t>(p), unwritten) {
    for (int rank = 0; rank < p; rank++) {
        auto *elements = static_cast<uint32_t *>(input(rank));
        for (size_t index = 0; index < length_; index++) {
            elements[index] = value(rank, index);
        }
    }
    // bcast has one buffer: the root's output holds the data
    if (call.collective->result == Result::FROM_ROOT && call.collective->sent_blocks == Blocks::NO_BLOCK) {
        std::copy_n(static_cast<uint32_t *>(input(call.root)), length_,
                    static_cast<uint32_t *>(output(call.root)));
    }
}

void *Check::input(int rank) {
    return inputs_.data() + static_cast<size_t>(rank) * length_;
}

void *Check::output(int rank) {
    return outputs_.data() + static_cast<size_t>(rank) * length_;
}

int64_t Check::count_wrong() const {
    int64_t wrong = 0;
    for (int rank = 0; rank < p_; rank++) {
        const uint32_t *elements = outputs_.data() + static_cast<size_t>(rank) * length_;
        for (size_t index = 0; index < result_length(rank); index++) {
            wrong += elements[index] != expected_element(rank, index);
        }
    }
    return wrong;
}

uint32_t Check::value(int rank, size_t index) {
    const auto r = static_cast<uint32_t>(rank);
    return 1 + r * r + 5 * static_cast<uint32_t>(index);
}

uint32_t Check::sum(int ranks, size_t index) {
    uint32_t total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        total += value(rank, index);
    }
    return total;
}

size_t Check::result_length(int rank) const {
    const Collective &collective = *call_.collective;
    if (collective.received_blocks == Blocks::NO_BLOCK ||
        (collective.root == Root::ROOT_RECEIVES && rank != call_.root) ||
        (collective.result == Result::REDUCE_BEFORE && rank == 0)) {
        return 0;
    }
    const bool all_blocks = collective.received_blocks == Blocks::BLOCK_PER_RANK;
    return static_cast<size_t>(call_.count) * (all_blocks ? static_cast<size_t>(p_) : 1);
}

uint32_t Check::expected_element(int rank, size_t index) const {
    const auto n = static_cast<size_t>(call_.count);
    const bool own_block = call_.collective->sent_blocks == Blocks::BLOCK_PER_RANK;
    const size_t first =
        own_block ? static_cast<size_t>(rank) * n : 0; // of what each sender has for this rank
    switch (call_.collective->result) {
    case Result::FROM_ROOT:
        return value(call_.root, first + index);
    case Result::FROM_EACH_RANK:
        return value(static_cast<int>(index / n), first + index % n);
    case Result::REDUCE_UPTO:
        return sum(rank + 1, index);
    case Result::REDUCE_BEFORE:
        return sum(rank, index);
    default:
        return sum(p_, first + index);
    }
}

} // namespace offbeat::smpi
