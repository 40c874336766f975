"""What the attention kernels of one CPU level offer the driver, for float32 and float64."""

# Rows of scores, one per query, `step` elements apart. A query sees the first `seen` keys, or one key more from row to row if causal.
ctypedef struct Scores:
    char* values            # products of queries and keys; after the call the weights
    const char* mask        # numbers to add, `mask_step` bytes from row to row; or NULL
    Py_ssize_t mask_step
    char* total             # of each row, its largest score and one over its sum of exponentials (0 where a query sees nothing)
    Py_ssize_t rows
    Py_ssize_t columns
    Py_ssize_t seen
    bint causal
    double scale

ctypedef void (*Weigh)(const Scores* s) noexcept nogil
# The weights again, from `total`; and to_weights, the weights' gradients, become those of the products.
ctypedef void (*WeighBackward)(const Scores* s, char* to_weights) noexcept nogil

ctypedef struct AttentionKernels:
    Weigh weigh
    WeighBackward weigh_backward

ctypedef struct AttentionTable:
    AttentionKernels single
    AttentionKernels double_
