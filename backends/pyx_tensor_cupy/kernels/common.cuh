// What every kernel file begins with. No header of CUDA's is needed, so that NVRTC compiles it anywhere.
//
// A file is compiled once for each element type: T is what lies in memory, A what is computed with (float for the half types).

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct half_t { u16 bits; };
struct bfloat_t { u16 bits; };

#ifdef __CUDACC_RTC__
__device__ inline float widen(half_t x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
__device__ inline void narrow(half_t* y, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y->bits) : "f"(x)); }
__device__ inline float widen(bfloat_t x) { return __uint_as_float((u32)x.bits << 16); }
#else
inline float widen(half_t x) { return half_to_float(x.bits); }
inline void narrow(half_t* y, float x) { y->bits = float_to_half(x); }
inline float widen(bfloat_t x) { return __uint_as_float((u32)x.bits << 16); }
#endif

__device__ inline void narrow(bfloat_t* y, float x) {      // rounds to the nearest, halves to even
    u32 bits = __float_as_uint(x);
    y->bits = x != x ? (u16)0x7fc0 : (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
__device__ inline void narrow(float* y, float x) { *y = x; }
__device__ inline void narrow(double* y, double x) { *y = x; }

#if defined(ELEMENT_float64)
typedef double T;
typedef double A;
#elif defined(ELEMENT_float16)
typedef half_t T;
typedef float A;
#elif defined(ELEMENT_bfloat16)
typedef bfloat_t T;
typedef float A;
#else
typedef float T;
typedef float A;
#endif

#define KERNEL extern "C" __global__ void
#define FIRST ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define EACH(i, n) for (i64 i = FIRST; i < (n); i += (i64)gridDim.x * blockDim.x)
// i / n and i % n, in 32 bits where that does: a GPU has no division of 64.
__device__ inline i64 over(i64 i, i64 n) { return (i | n) >> 32 ? i / n : (i64)((u32)i / (u32)n); }
__device__ inline i64 rest(i64 i, i64 n) { return (i | n) >> 32 ? i % n : (i64)((u32)i % (u32)n); }
#define MINUS_INFINITY (-(A)INFINITY_)
#define INFINITY_ (__int_as_float(0x7f800000))
#define NAN_ (__int_as_float(0x7fc00000))

// --- reductions of a block of whole warps: every thread gets the result ------------------------------------------------
struct Add { static __device__ A neutral() { return 0; } static __device__ A of(A a, A b) { return a + b; } };
struct Max {      // NaN wins
    static __device__ A neutral() { return MINUS_INFINITY; }
    static __device__ A of(A a, A b) { return a > b || a != a ? a : b; }
};

template <class Op> __device__ A block_reduce(A x) {
    __shared__ A parts[32];
    for (int d = 16; d; d >>= 1) x = Op::of(x, __shfl_down_sync(0xffffffffu, x, d));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : Op::neutral();
        for (int d = 16; d; d >>= 1) x = Op::of(x, __shfl_down_sync(0xffffffffu, x, d));
        if (threadIdx.x == 0) parts[0] = x;
    }
    __syncthreads();
    x = parts[0];
    __syncthreads();      // before `parts` is written again
    return x;
}
__device__ inline A block_sum(A x) { return block_reduce<Add>(x); }
__device__ inline A block_max(A x) { return block_reduce<Max>(x); }

// --- mean and squared distance from it, of numbers that come one by one or in groups (Welford; Chan et al.) -----------
struct Moments { A count, mean, square; };

__device__ inline void include(Moments* m, A x) {
    m->count += 1;
    A away = x - m->mean;
    m->mean += away / m->count;
    m->square += away * (x - m->mean);
}
__device__ inline Moments merged(Moments a, Moments b) {
    A count = a.count + b.count;
    if (count == 0) return a;
    A away = b.mean - a.mean, share = b.count / count;
    Moments m = {count, a.mean + away * share, a.square + b.square + away * away * a.count * share};
    return m;
}
__device__ inline Moments block_moments(Moments m) {
    __shared__ Moments parts[32];
    for (int d = 16; d; d >>= 1) {
        Moments other = {__shfl_down_sync(0xffffffffu, m.count, d), __shfl_down_sync(0xffffffffu, m.mean, d),
                         __shfl_down_sync(0xffffffffu, m.square, d)};
        m = merged(m, other);
    }
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = m;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < blockDim.x / 32; w++) m = merged(m, parts[w]);
        parts[0] = m;
    }
    __syncthreads();
    m = parts[0];
    __syncthreads();
    return m;
}
