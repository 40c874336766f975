// Activations and their gradients, one pass over memory each. p, q, r are a function's numbers.

__device__ inline A sigmoid_(A x) { return 1 / (1 + exp(-x)); }
__device__ inline A softplus_(A x) { return x > 20 ? x : log1p(exp(x)); }
__device__ inline A gelu_tanh_curve(A x) { return tanh((A)0.79788456080286535588 * (x + (A)0.044715 * x * x * x)); }

#define UNARY(name, formula) \
    KERNEL name(const T* a, T* out, i64 n, A p, A q, A r) { EACH(i, n) { A x = widen(a[i]); narrow(out + i, formula); } }

// From the output's gradient g and either the input or the output, x.
#define GRADIENT(name, formula) \
    KERNEL name(const T* grad, const T* a, T* out, i64 n, A p, A q, A r) { \
        EACH(i, n) { A g = widen(grad[i]), x = widen(a[i]); narrow(out + i, formula); } }

UNARY(relu, x < 0 ? (A)0 : x)
UNARY(silu, x * sigmoid_(x))
UNARY(mish, x * tanh(softplus_(x)))
UNARY(gelu, (A)0.5 * x * (1 + erf(x * (A)0.70710678118654752440)))
UNARY(gelu_tanh, (A)0.5 * x * (1 + gelu_tanh_curve(x)))
UNARY(logsigmoid, (x < 0 ? x : (A)0) - log1p(exp(-fabs(x))))
UNARY(leaky_relu, x > 0 ? x : x * p)
UNARY(elu, x > 0 ? x * q : expm1(x * r) * (p * q))                              // p: alpha, q: scale, r: input_scale
UNARY(softplus, x * p > q ? x : log1p(exp(x * p)) / p)                           // p: beta, q: threshold
UNARY(hardsigmoid, x <= -3 ? (A)0 : x >= 3 ? (A)1 : (x + 3) / 6)
UNARY(hardswish, x <= -3 ? (A)0 : x >= 3 ? x : x * (x + 3) / 6)

GRADIENT(relu_backward, x <= 0 ? (A)0 : g)
GRADIENT(sigmoid_backward, g * x * (1 - x))
GRADIENT(tanh_backward, g * (1 - x * x))
GRADIENT(silu_backward, g * sigmoid_(x) * (1 + x * (1 - sigmoid_(x))))
GRADIENT(gelu_backward, g * ((A)0.5 * (1 + erf(x * (A)0.70710678118654752440)) + x * exp(x * x * (A)-0.5) * (A)0.39894228040143267794))

KERNEL gelu_tanh_backward(const T* grad, const T* a, T* out, i64 n, A p, A q, A r) {
    EACH(i, n) {
        A x = widen(a[i]), curve = gelu_tanh_curve(x);
        A slope = (1 - curve * curve) * (A)0.79788456080286535588 * (1 + (A)(3 * 0.044715) * x * x);
        narrow(out + i, (A)widen(grad[i]) * (A)0.5 * (1 + curve + x * slope));
    }
}

// Dropout and its gradient: what is kept, scaled.
KERNEL masked_scale(const T* a, const u8* mask, T* out, i64 n, A scale) {
    EACH(i, n) narrow(out + i, mask[i] ? (A)widen(a[i]) * scale : (A)widen(a[i]) * 0);
}

KERNEL addcmul(const T* a, const T* b, const T* c, T* out, i64 n, A value) {
    EACH(i, n) narrow(out + i, (A)widen(a[i]) + value * widen(b[i]) * widen(c[i]));
}
KERNEL addcdiv(const T* a, const T* b, const T* c, T* out, i64 n, A value) {
    EACH(i, n) narrow(out + i, (A)widen(a[i]) + value * widen(b[i]) / widen(c[i]));
}
