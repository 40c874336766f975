/* Sums of elements that lie anywhere. Compilers that tune for no processor in particular look them up one by one; AVX-512 has an instruction. */
#ifndef PYX_TENSOR_GATHERS_H
#define PYX_TENSOR_GATHERS_H
#include <stdint.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* total[i] += weights[i] * from[places[i]] where places[i] isn't negative; n is a multiple of 16. A negative place adds weights[i] * 0. */
static inline void add_found_f32(float* total, const float* weights, const float* from, const int32_t* places, int n) {
#ifdef __AVX512F__
    for (int i = 0; i < n; i += 16) {
        const __m512i at = _mm512_loadu_si512(places + i);
        const __m512 found = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512()), at, from, 4);
        _mm512_storeu_ps(total + i, _mm512_fmadd_ps(_mm512_loadu_ps(weights + i), found, _mm512_loadu_ps(total + i)));
    }
#else
    for (int i = 0; i < n; i++) total[i] += weights[i] * (places[i] < 0 ? 0 : from[places[i]]);
#endif
}

static inline void add_found_f64(double* total, const double* weights, const double* from, const int32_t* places, int n) {
#ifdef __AVX512F__
    for (int i = 0; i < n; i += 8) {
        const __m256i at = _mm256_loadu_si256((const __m256i*)(places + i));
        const __mmask8 there = (__mmask8)~_mm256_movemask_ps(_mm256_castsi256_ps(at));
        const __m512d found = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), there, at, from, 8);
        _mm512_storeu_pd(total + i, _mm512_fmadd_pd(_mm512_loadu_pd(weights + i), found, _mm512_loadu_pd(total + i)));
    }
#else
    for (int i = 0; i < n; i++) total[i] += weights[i] * (places[i] < 0 ? 0 : from[places[i]]);
#endif
}
#endif
