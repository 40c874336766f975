"""What the kernels of one CPU level offer connectionist temporal classification."""

# out[i] = log(e^a[i] + e^b[i] + e^(c[i] + gate[i])); a gate is 0, or -inf where the third doesn't count. `out` is apart from them.
ctypedef void (*LogSums)(Py_ssize_t n, const double* a, const double* b, const double* c, const double* gate, double* out) noexcept nogil
ctypedef void (*Exponentials)(Py_ssize_t n, const void* x, void* out) noexcept nogil

ctypedef struct CtcTable:
    LogSums log_sums
    Exponentials single
    Exponentials double_
