/* The highest level of x86-64 that the processor and the operating system support: 0 baseline, 3, 4. */
#ifndef PYX_TENSOR_CPU_FEATURES_H
#define PYX_TENSOR_CPU_FEATURES_H

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#include <immintrin.h>
static int x86_64_level(void) {
    int leaf1[4], leaf7[4], extended[4];
    __cpuid(leaf1, 0);
    if (leaf1[0] < 7) return 0;
    __cpuid(leaf1, 1);
    __cpuidex(leaf7, 7, 0);
    __cpuid(extended, 0x80000001);
    if (!(leaf1[2] >> 27 & 1)) return 0;                                     /* the system saves extended state */
    unsigned long long saved = _xgetbv(0);
    int avx2 = (saved & 0x6) == 0x6 && (leaf1[2] >> 12 & 1) && (leaf1[2] >> 22 & 1) && (leaf1[2] >> 29 & 1)
        && (leaf7[1] >> 3 & 1) && (leaf7[1] >> 5 & 1) && (leaf7[1] >> 8 & 1) && (extended[2] >> 5 & 1);
    int avx512 = (saved & 0xe6) == 0xe6 && (leaf7[1] >> 16 & 1) && (leaf7[1] >> 17 & 1) && (leaf7[1] >> 28 & 1)
        && (leaf7[1] >> 30 & 1) && (leaf7[1] >> 31 & 1);
    return avx2 ? (avx512 ? 4 : 3) : 0;
}
#elif defined(__x86_64__)
static int x86_64_level(void) {
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2");
    int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx2 ? (avx512 ? 4 : 3) : 0;
}
#else
static int x86_64_level(void) { return 0; }
#endif
#endif
