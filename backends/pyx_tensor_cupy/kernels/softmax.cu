// Softmax and its logarithm over the middle dim of (outer, n, inner), and their gradients.
// Where inner is 1, a block has a row; else a thread has a line, so that neighbours read neighbours.

struct Peak { A top, sum; };      // the largest number, and the sum of exp(x - top)

__device__ inline void include(Peak* p, A x) {
    if (x > p->top || x != x) {
        p->sum = p->sum * exp(p->top - x) + 1;
        p->top = x;
    } else if (x != MINUS_INFINITY) {
        p->sum += exp(x - p->top);
    }
}

__device__ inline Peak row_peak(const T* a, i64 n) {
    Peak p = {MINUS_INFINITY, 0};
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) include(&p, widen(a[j]));
    A top = block_max(p.top);
    p.sum = block_sum(p.sum == 0 ? (A)0 : p.sum * exp(p.top - top));
    p.top = top;
    return p;
}

__device__ inline Peak line_peak(const T* a, i64 n, i64 step) {
    Peak p = {MINUS_INFINITY, 0};
    for (i64 j = 0; j < n; j++) include(&p, widen(a[j * step]));
    return p;
}

__device__ inline A softmax_of(A x, Peak p) { return exp(x - p.top) / p.sum; }
__device__ inline A log_softmax_of(A x, Peak p) { return x - p.top - log(p.sum); }
__device__ inline A softmax_gradient(A g, A y, A total) { return y * (g - total); }
__device__ inline A log_softmax_gradient(A g, A y, A total) { return g - exp(y) * total; }

#define FORWARD(name) \
    KERNEL name##_rows(const T* a, T* y, i64 rows, i64 n) { \
        for (i64 row = blockIdx.x; row < rows; row += gridDim.x) { \
            Peak p = row_peak(a + row * n, n); \
            for (i64 j = threadIdx.x; j < n; j += blockDim.x) narrow(y + row * n + j, name##_of(widen(a[row * n + j]), p)); \
        } } \
    KERNEL name##_lines(const T* a, T* y, i64 outer, i64 n, i64 inner) { \
        EACH(i, outer * inner) { \
            i64 start = over(i, inner) * n * inner + rest(i, inner); \
            Peak p = line_peak(a + start, n, inner); \
            for (i64 j = 0; j < n; j++) narrow(y + start + j * inner, name##_of(widen(a[start + j * inner]), p)); \
        } }

// `term` is what is summed along the row, of g and y.
#define BACKWARD(name, term) \
    KERNEL name##_backward_rows(const T* grad, const T* out, T* to_input, i64 rows, i64 n) { \
        for (i64 row = blockIdx.x; row < rows; row += gridDim.x) { \
            A total = 0; \
            for (i64 j = row * n + threadIdx.x; j < (row + 1) * n; j += blockDim.x) { A g = widen(grad[j]), y = widen(out[j]); (void)y; total += term; } \
            total = block_sum(total); \
            for (i64 j = row * n + threadIdx.x; j < (row + 1) * n; j += blockDim.x) \
                narrow(to_input + j, name##_gradient(widen(grad[j]), widen(out[j]), total)); \
        } } \
    KERNEL name##_backward_lines(const T* grad, const T* out, T* to_input, i64 outer, i64 n, i64 inner) { \
        EACH(i, outer * inner) { \
            i64 start = over(i, inner) * n * inner + rest(i, inner), end = start + n * inner; \
            A total = 0; \
            for (i64 j = start; j < end; j += inner) { A g = widen(grad[j]), y = widen(out[j]); (void)y; total += term; } \
            for (i64 j = start; j < end; j += inner) narrow(to_input + j, name##_gradient(widen(grad[j]), widen(out[j]), total)); \
        } }

FORWARD(softmax)
FORWARD(log_softmax)
BACKWARD(softmax, g * y)
BACKWARD(log_softmax, g)
