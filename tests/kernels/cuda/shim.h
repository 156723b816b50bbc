// What CUDA's language has and C++ has not: blocks of threads on one core of a CPU, for tests.
// A block's threads run one after the other; where they wait for each other, each has a stack of its own.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;

using std::abs;
using std::fma;
using std::isfinite;
using std::isinf;
using std::isnan;
template <class A, class B> static inline auto min(A a, B b) { using T = std::common_type_t<A, B>; return T(b) < T(a) ? T(b) : T(a); }
template <class A, class B> static inline auto max(A a, B b) { using T = std::common_type_t<A, B>; return T(a) < T(b) ? T(b) : T(a); }

namespace shim {
enum class State { ready, waiting, done };
struct Thread {
    ucontext_t context;
    char *stack;
    State state;
    uint3 index;
};
static const size_t STACK = 1 << 18;
static Thread *threads;
static size_t count;  // of threads in a block
static ucontext_t scheduler;
static Thread *running;
static void (*body)(void *);
static void *given;
static double *memory;  // dynamic shared memory
static inline void *shared() { return memory; }

static void run() {
    body(given);
    running->state = State::done;
    swapcontext(&running->context, &scheduler);
}

static inline void wait() {
    if (!running) {
        std::fputs("shim: a thread waits outside a block that runs together\n", stderr);
        std::abort();
    }
    running->state = State::waiting;
    swapcontext(&running->context, &scheduler);
}

// The threads of a block together: where they wait, all go on when none still runs.
static void together() {
    for (size_t k = 0; k < count; ++k) {
        Thread &t = threads[k];
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = t.stack;
        t.context.uc_stack.ss_size = STACK;
        t.context.uc_link = nullptr;
        makecontext(&t.context, run, 0);
        t.state = State::ready;
    }
    for (;;) {
        for (size_t k = 0; k < count; ++k)
            if (threads[k].state == State::ready) {
                running = threads + k;
                threadIdx = running->index;
                swapcontext(&scheduler, &running->context);
            }
        running = nullptr;
        bool more = false;
        for (size_t k = 0; k < count; ++k)
            if (threads[k].state == State::waiting) {
                threads[k].state = State::ready;
                more = true;
            }
        if (!more) return;
    }
}

static void launch(const unsigned *sizes, size_t shared_bytes, bool waits) {
    gridDim = {sizes[0], sizes[1], sizes[2]};
    blockDim = {sizes[3], sizes[4], sizes[5]};
    count = size_t(sizes[3]) * sizes[4] * sizes[5];
    threads = static_cast<Thread *>(std::calloc(count, sizeof(Thread)));
    char *stacks = waits ? static_cast<char *>(std::malloc(count * STACK)) : nullptr;
    memory = static_cast<double *>(std::malloc(shared_bytes + 8));
    for (size_t k = 0; k < shared_bytes / 8; ++k) memory[k] = NAN;
    for (size_t k = 0; k < count; ++k) {
        threads[k].stack = stacks + k * STACK;
        threads[k].index = {unsigned(k % sizes[3]), unsigned(k / sizes[3] % sizes[4]), unsigned(k / sizes[3] / sizes[4])};
    }
    for (unsigned z = 0; z < gridDim.z; ++z)
        for (unsigned y = 0; y < gridDim.y; ++y)
            for (unsigned x = 0; x < gridDim.x; ++x) {
                blockIdx = {x, y, z};
                if (waits) together();
                for (size_t k = 0; !waits && k < count; ++k) {
                    threadIdx = threads[k].index;
                    body(given);
                }
            }
    std::free(threads);
    std::free(stacks);
    std::free(memory);
}

template <class T> using Plain = std::remove_cv_t<T>;
template <class... P, size_t... I>
static void call(void (*kernel)(P...), void **given, std::index_sequence<I...>) {
    kernel(*static_cast<Plain<P> *>(given[I])...);
}
template <class... P> struct Kernel {
    void (*function)(P...);
    void **arguments;
    static void one(void *self) {
        auto &x = *static_cast<Kernel *>(self);
        call(x.function, x.arguments, std::index_sequence_for<P...>{});
    }
};
template <class... P>
static void start(void (*kernel)(P...), void **arguments, const unsigned *sizes, size_t shared, bool waits) {
    Kernel<P...> own{kernel, arguments};
    body = Kernel<P...>::one;
    given = &own;
    launch(sizes, shared, waits);
}
// The sizes of a kernel's arguments in bytes, ended by 0.
template <class... P> static const int *sizes(void (*)(P...)) {
    static const int found[] = {int(sizeof(P))..., 0};
    return found;
}
}  // namespace shim

static inline void __syncwarp() { shim::wait(); }
