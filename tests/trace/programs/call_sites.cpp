// Calls in templates, methods, lambdas and unnamed namespaces.
#include <mpi.h>

namespace solver {
namespace {
template <typename Value> [[gnu::noinline]] Value summed(Value value) {
    Value sum;
    MPI_Allreduce(&value, &sum, sizeof(Value), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    return sum;
}
} // namespace

template <typename Value> class Grid {
  public:
    [[gnu::noinline]] Value halo(Value x) {
        return summed<Value>(x) + 1;
    }
    [[gnu::noinline]] Value operator()(Value x) const {
        Value sum;
        MPI_Allreduce(&x, &sum, sizeof(Value), MPI_BYTE, MPI_BAND, MPI_COMM_WORLD);
        return sum;
    }
};
} // namespace solver

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    solver::Grid<int> small;
    solver::Grid<long> large;
    int x = small.halo(1);
    for (int i = 0; i < 3; i++)
        x += static_cast<int>(large.halo(x)) + small(x);
    auto last = [&](int y) __attribute__((noinline)) {
        int sum;
        MPI_Allreduce(&y, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return sum;
    };
    x += last(x);
    MPI_Finalize();
    return x == 12345;
}
