/* Functions of complex numbers, as pairs, by the C library. */
#ifndef PYX_TENSOR_COMPLEX_MATH_H
#define PYX_TENSOR_COMPLEX_MATH_H
#include <complex.h>
#include <string.h>

enum { C_SQRT, C_EXP, C_LOG, C_SIN, C_COS, C_TAN, C_ASIN, C_ACOS, C_ATAN, C_SINH, C_COSH, C_TANH, C_ASINH, C_ACOSH, C_ATANH };

#ifdef _MSC_VER
typedef _Fcomplex complex_f32;
typedef _Dcomplex complex_f64;
#else
typedef float _Complex complex_f32;
typedef double _Complex complex_f64;
#endif

#define COMPLEX_FUNCTIONS(suffix, real, f) \
    static complex_##suffix (*const c_functions_##suffix[])(complex_##suffix) = { \
        csqrt##f, cexp##f, clog##f, csin##f, ccos##f, ctan##f, casin##f, cacos##f, catan##f, \
        csinh##f, ccosh##f, ctanh##f, casinh##f, cacosh##f, catanh##f }; \
    static inline void c_unary_##suffix(int which, real *out, const real *a) { \
        complex_##suffix x, y; \
        memcpy(&x, a, sizeof x); \
        y = c_functions_##suffix[which](x); \
        memcpy(out, &y, sizeof y); \
    } \
    static inline void c_pow_##suffix(real *out, const real *a, const real *b) { \
        complex_##suffix x, e, y; \
        if (b[1] == 0 && (b[0] == 0 || b[0] == 1)) {   /* by logarithms NaN, for a base that is 0 or infinite */ \
            real re = b[0] == 0 ? 1 : a[0], im = b[0] == 0 ? 0 : a[1]; \
            out[0] = re; \
            out[1] = im; \
            return; \
        } \
        memcpy(&x, a, sizeof x); \
        memcpy(&e, b, sizeof e); \
        y = cpow##f(x, e); \
        memcpy(out, &y, sizeof y); \
    }
COMPLEX_FUNCTIONS(f32, float, f)
COMPLEX_FUNCTIONS(f64, double, )
#endif
