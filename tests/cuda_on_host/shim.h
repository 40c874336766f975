// CUDA's execution of a kernel, on the host: for testing kernels where there is no GPU.
//
// The threads of a block are coroutines, which change only at __syncthreads and warp shuffles; blocks run one after the other.
// `backwards` runs threads and blocks in the opposite order: a result that depends on it shows a missing barrier.
#pragma once
#undef _FORTIFY_SOURCE
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <utility>

#define __global__ __attribute__((used))
#define __device__
#define __shared__ static

using std::exp; using std::log; using std::log1p; using std::expm1; using std::tanh; using std::erf; using std::sqrt; using std::fabs; using std::pow;

namespace host {

struct Index { unsigned x, y, z; };
struct Barrier { unsigned alive, arrived, generation; };
struct Thread { Index index; jmp_buf at; ucontext_t start; bool begun, done; };

const unsigned MOST = 1024, STACK = 64 << 10;
static Thread threads[MOST];
alignas(16) static char stacks[MOST][STACK];
alignas(16) static char exchanged[MOST][16];
static Barrier block, warps[MOST / 32];
static Thread* now;
static jmp_buf scheduler;
static ucontext_t main_context;
static std::function<void()> body;
static unsigned long progress;
static Index grid_index, block_size, grid_size;

inline unsigned place() { return now - threads; }

inline void release(Barrier& b) {
    if (b.alive && b.arrived >= b.alive) { b.arrived = 0; b.generation++; progress++; }
}
inline void pause() { if (!_setjmp(now->at)) _longjmp(scheduler, 1); }
inline void wait(Barrier& b) {
    unsigned generation = b.generation;
    b.arrived++;
    release(b);
    while (b.generation == generation) pause();
}
static void coroutine() {
    for (;;) {
        body();
        now->done = true;
        progress++;
        block.alive--;
        release(block);
        Barrier& warp = warps[place() / 32];
        warp.alive--;
        release(warp);
        pause();
    }
}
static void resume(Thread& t) {
    now = &t;
    if (_setjmp(scheduler)) return;
    if (t.begun) _longjmp(t.at, 1);
    t.begun = true;
    getcontext(&t.start);
    t.start.uc_stack.ss_sp = stacks[place()];
    t.start.uc_stack.ss_size = STACK;
    t.start.uc_link = &main_context;
    makecontext(&t.start, coroutine, 0);
    setcontext(&t.start);
}
static bool run_block(unsigned count, bool backwards) {
    block = {count, 0, 0};
    for (unsigned w = 0; w * 32 < count; w++) warps[w] = {count - w * 32 < 32 ? count - w * 32 : 32, 0, 0};
    for (unsigned k = 0; k < count; k++) {
        threads[k].index = {k % block_size.x, k / block_size.x % block_size.y, k / block_size.x / block_size.y};
        threads[k].done = false;
    }
    while (block.alive) {
        unsigned long before = progress;
        for (unsigned k = 0; k < count; k++) {
            Thread& t = threads[backwards ? count - 1 - k : k];
            if (!t.done) resume(t);
        }
        if (progress == before) return false;      // all that are left wait for one another
    }
    return true;
}
// 0, or 1 where threads wait for others that never come, 2 for a launch that CUDA refuses.
static int launch(const unsigned* grid, const unsigned* size, bool backwards, std::function<void()> call) {
    unsigned count = size[0] * size[1] * size[2];
    grid_size = {grid[0], grid[1], grid[2]};
    block_size = {size[0], size[1], size[2]};
    if (!count || count > MOST || !grid[0] || !grid[1] || !grid[2] || grid[1] > 65535 || grid[2] > 65535) return 2;
    body = call;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    for (uint64_t k = 0; k < blocks; k++) {
        uint64_t b = backwards ? blocks - 1 - k : k;
        grid_index = {(unsigned)(b % grid[0]), (unsigned)(b / grid[0] % grid[1]), (unsigned)(b / grid[0] / grid[1])};
        if (!run_block(count, backwards)) { memset((void*)threads, 0, sizeof threads); return 1; }
    }
    return 0;
}
template <class... P, size_t... I> void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) { kernel(*(P*)arguments[I]...); }
template <class... P> int invoke(void (*kernel)(P...), const unsigned* grid, const unsigned* size, int backwards, void** arguments, int given,
                                 const int* bytes) {
    const int wanted[] = {(int)sizeof(P)...};
    if (given != (int)sizeof...(P)) return 3;
    for (int k = 0; k < given; k++) if (bytes[k] != wanted[k]) return 16 + k;
    return launch(grid, size, backwards, [=] { call(kernel, arguments, std::make_index_sequence<sizeof...(P)>()); });
}

}  // namespace host

#define threadIdx (host::now->index)
#define blockIdx host::grid_index
#define blockDim host::block_size
#define gridDim host::grid_size

inline void __syncthreads() { host::wait(host::block); }
template <class V> V __shfl_down_sync(unsigned, V value, unsigned by) {
    unsigned me = host::place();
    memcpy(host::exchanged[me], &value, sizeof value);
    host::wait(host::warps[me / 32]);
    if (me % 32 + by < 32) memcpy(&value, host::exchanged[me + by], sizeof value);
    host::wait(host::warps[me / 32]);
    return value;
}
template <class V> V atomicAdd(V* at, V by) { V before = *at; *at += by; return before; }

template <class To, class From> To same_bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
inline uint32_t __float_as_uint(float x) { return same_bits<uint32_t>(x); }
inline float __uint_as_float(uint32_t x) { return same_bits<float>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }

inline float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    return std::copysign(std::ldexp((float)fraction, -24), sign ? -1.f : 1.f);
}
inline uint16_t float_to_half(float x) {
    uint16_t sign = __float_as_uint(x) >> 16 & 0x8000;
    if (x != x) return 0x7fff;
    float size = std::fabs(x);
    if (size >= 65520.f) return sign | 0x7c00;
    int exponent = size < 6.103515625e-05f ? -14 : std::ilogb(size);      // of the last place: exponent - 10
    uint32_t units = (uint32_t)std::nearbyint(std::ldexp(size, 10 - exponent));
    return sign | (uint16_t)(exponent == -14 ? units : (uint32_t)((exponent + 14) << 10) + units);
}
