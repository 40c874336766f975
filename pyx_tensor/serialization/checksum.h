/* CRC-32 (of zip files) by carry-less multiplication.

   A message is a polynomial over GF(2), its sum a remainder. Sixteen bytes may be moved forward by d bits, to be added to what
   stands there, by multiplying each half by x^(d + 32) or x^(d - 32) modulo the polynomial: four such lanes at once until 64 bytes
   are left, one at the end. V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel, 2009. */
#ifndef PYX_TENSOR_CHECKSUM_H
#define PYX_TENSOR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#include <wmmintrin.h>
#ifdef _MSC_VER
#include <intrin.h>
#define WITH_PCLMUL
static int crc32_folds(void)
{
    int registers[4];
    __cpuid(registers, 1);
    return registers[2] >> 1 & 1;
}
#else
#define WITH_PCLMUL __attribute__((target("sse2,pclmul")))
static int crc32_folds(void) { return __builtin_cpu_supports("pclmul") != 0; }
#endif

WITH_PCLMUL static inline __m128i moved(__m128i value, __m128i powers, __m128i there)
{
    __m128i low = _mm_clmulepi64_si128(value, powers, 0x00), high = _mm_clmulepi64_si128(value, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

/* Sixteen bytes that have, from a register of zero on, the sum of n bytes, a multiple of 64, from `state` on. */
WITH_PCLMUL static void crc32_fold(uint32_t state, const unsigned char *data, size_t n, unsigned char *folded)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    const __m128i *at = (const __m128i *)data, *end = (const __m128i *)(data + n);
    __m128i a = _mm_xor_si128(_mm_loadu_si128(at), _mm_cvtsi32_si128((int)state));
    __m128i b = _mm_loadu_si128(at + 1), c = _mm_loadu_si128(at + 2), d = _mm_loadu_si128(at + 3);
    for (at += 4; at < end; at += 4) {
        a = moved(a, by_64, _mm_loadu_si128(at));
        b = moved(b, by_64, _mm_loadu_si128(at + 1));
        c = moved(c, by_64, _mm_loadu_si128(at + 2));
        d = moved(d, by_64, _mm_loadu_si128(at + 3));
    }
    _mm_storeu_si128((__m128i *)folded, moved(moved(moved(a, by_16, b), by_16, c), by_16, d));
}
#else
static int crc32_folds(void) { return 0; }
static void crc32_fold(uint32_t state, const unsigned char *data, size_t n, unsigned char *folded) { (void)state, (void)data, (void)n, (void)folded; }
#endif
#endif
