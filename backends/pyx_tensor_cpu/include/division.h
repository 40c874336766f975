/* Division with remainder, powers and shifts of integers: a part of scalar_math.h. */
#ifndef PYX_TENSOR_DIVISION_H
#define PYX_TENSOR_DIVISION_H

/* ---- division with rounding down, as Python divides ---- */

#define FLOOR_DIVISION(prefix, suffix, real, c_fmod, c_floor, c_copysign) \
    static inline real prefix##fmod_##suffix(real a, real b) { return c_fmod(a, b); } \
    static inline real prefix##remainder_##suffix(real a, real b) { \
        real r = c_fmod(a, b); \
        return (r != 0) & ((b < 0) != (r < 0)) ? r + b : r; \
    } \
    static inline real prefix##floor_divide_##suffix(real a, real b) { \
        real r = c_fmod(a, b), q = (a - r) / b; \
        q = (r != 0) & ((b < 0) != (r < 0)) ? q - 1 : q; \
        real down = c_floor(q); \
        down = q - down > (real)0.5 ? down + 1 : down; \
        down = q != 0 ? down : c_copysign((real)0, a / b); \
        return b == 0 ? a / b : down; \
    }
/* Where |a / b| < FMOD_LIMIT, the truncated quotient of two floats is right in double, its product with b exact. */
#define FMOD_LIMIT 0x1p28
static inline float near_fmod_f32(float a, float b) {
    double q = trunc((double)a / b);
    return copysignf(q == 0. ? a : (float)(a - q * b), a);
}
FLOOR_DIVISION(, f32, float, near_fmod_f32, floorf, copysignf)
FLOOR_DIVISION(, f64, double, fmod, floor, copysign)
FLOOR_DIVISION(far_, f32, float, fmodf, floorf, copysignf)
FLOOR_DIVISION(far_, f64, double, fmod, floor, copysign)

#define INTEGER_DIVISION(suffix, integer, wide) \
    static inline integer floor_divide_##suffix(integer a, integer b) { \
        if (b == (integer)-1 && (integer)-1 < 0) return (integer)(0 - (wide)a); \
        integer q = a / b; \
        return (a % b != 0) & ((a < 0) != (b < 0)) ? q - 1 : q; \
    } \
    static inline integer fmod_##suffix(integer a, integer b) { return b == (integer)-1 && (integer)-1 < 0 ? 0 : a % b; } \
    static inline integer remainder_##suffix(integer a, integer b) { \
        integer r = fmod_##suffix(a, b); \
        return (r != 0) & ((r < 0) != (b < 0)) ? (integer)(r + b) : r; \
    } \
    static inline integer pow_##suffix(integer a, integer b) { \
        if (b < 0) return a == 1 ? 1 : a == (integer)-1 ? (b % 2 == 0 ? 1 : (integer)-1) : 0; \
        wide y = 1, x = (wide)a; \
        for (; b; b = (integer)(b >> 1), x *= x) if (b & 1) y *= x; \
        return (integer)y; \
    }
INTEGER_DIVISION(i8, int8_t, uint32_t)
INTEGER_DIVISION(u8, uint8_t, uint32_t)
INTEGER_DIVISION(i16, int16_t, uint32_t)
INTEGER_DIVISION(u16, uint16_t, uint32_t)
INTEGER_DIVISION(i32, int32_t, uint32_t)
INTEGER_DIVISION(u32, uint32_t, uint32_t)
INTEGER_DIVISION(i64, int64_t, uint64_t)
INTEGER_DIVISION(u64, uint64_t, uint64_t)

/* Quotients of integers below 2^52 by way of double: a / b lies at least 1 / |b| from the next integer, which is more than its rounding.
 * Processors divide doubles several at a time, and integers slowly, one by one. */
#define QUICK_LIMIT ((int64_t)1 << 52)
#define m_is_quick(x) _Generic((x), uint64_t: (uint64_t)(x) < (uint64_t)QUICK_LIMIT, \
    default: (uint64_t)(int64_t)(x) + (uint64_t)QUICK_LIMIT < 2 * (uint64_t)QUICK_LIMIT)
static inline double quick_floor_divide(double a, double b) { return floor(a / b); }
static inline double quick_fmod(double a, double b) { return a - b * trunc(a / b); }
static inline double quick_remainder(double a, double b) { return a - b * floor(a / b); }

#define NUMBER_GENERIC(name, x) _Generic((x), float: name##_f32, double: name##_f64, int8_t: name##_i8, uint8_t: name##_u8, \
    int16_t: name##_i16, uint16_t: name##_u16, int32_t: name##_i32, uint32_t: name##_u32, int64_t: name##_i64, uint64_t: name##_u64)

/* A shift by the width or more, or by a negative count, moves every bit out, as in PyTorch. */
#define m_left_shift(a, b) ((b) < 0 || (uint64_t)(b) >= 8 * sizeof(a) ? 0 : (uint64_t)(a) << ((b) & 63))
#define m_right_shift(a, b) ((b) < 0 || (uint64_t)(b) >= 8 * sizeof(a) ? ((a) < 0 ? -1 : 0) : (a) >> ((b) & (8 * sizeof(a) - 1)))

/* ---- the greatest common divisor ---- */

static inline int zeros_below(uint64_t x) {      /* x != 0 */
#if defined(__GNUC__)
    return __builtin_ctzll(x);
#else
    int count = 0;
    for (; !(x & 1); x >>= 1) count++;
    return count;
#endif
}
/* Stein's algorithm: two odd numbers have the divisors of the smaller one and of their difference, less its factors of 2. By masks, for no
 * processor guesses which is the smaller. */
static inline uint64_t common_divisor(uint64_t a, uint64_t b) {
    if (!a | !b) return a | b;
    int twos = zeros_below(a | b);
    uint64_t apart;
    a >>= zeros_below(a);
    b >>= zeros_below(b);
    while ((apart = a - b)) {
        uint64_t less = 0 - (uint64_t)(a < b);
        int below = zeros_below(apart);          /* as many in its opposite */
        a = b + (apart & less);
        b = ((apart ^ less) - less) >> below;
    }
    return a << twos;
}

#endif
