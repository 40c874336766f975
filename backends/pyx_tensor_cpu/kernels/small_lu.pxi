# LU of small real matrices, which cost LAPACK more to enter than to factor: column-major, m by n, at most SMALL of each.

cdef enum:
    SMALL = 16

ctypedef fused real:
    float
    double


cdef i64 small_lu(real* a, i64 m, i64 n, i64* pivots) noexcept nogil:
    """Factor in place with the largest element of a column as pivot; pivots count from 1. The place of the first zero pivot, or 0."""
    cdef i64 info = 0, j, row, column, best
    cdef real size, factor, held
    for j in range(min(m, n)):
        best = j
        size = abs(a[j + j * m])
        for row in range(j + 1, m):
            if abs(a[row + j * m]) > size:
                best, size = row, abs(a[row + j * m])
        pivots[j] = best + 1
        if best != j:
            for column in range(n):
                held = a[j + column * m]
                a[j + column * m] = a[best + column * m]
                a[best + column * m] = held
        if a[j + j * m] == 0:
            info = info if info else j + 1
            continue
        factor = a[j + j * m]
        for row in range(j + 1, m):
            a[row + j * m] /= factor
        for column in range(j + 1, n):
            factor = a[j + column * m]
            for row in range(j + 1, m):
                a[row + column * m] -= a[row + j * m] * factor
    return info


cdef void exchange(real* b, i64 n, i64 k, i64 row, i64 other) noexcept nogil:
    cdef i64 column
    cdef real held
    for column in range(k if row != other else 0):
        held = b[row + column * n]
        b[row + column * n] = b[other + column * n]
        b[other + column * n] = held


cdef void small_lu_solve(const real* a, const i64* pivots, real* b, i64 n, i64 k, bint transposed) noexcept nogil:
    """The n by k matrix b becomes X of A X = B, or of A^T X = B, from small_lu's results."""
    cdef i64 row, column, j
    cdef real* x = b
    if not transposed:
        for j in range(n):
            exchange(b, n, k, j, pivots[j] - 1)
    for column in range(k):
        x = b + column * n
        if transposed:                      # U^T, then L^T
            for j in range(n):
                for row in range(j):
                    x[j] -= a[row + j * n] * x[row]
                x[j] /= a[j + j * n]
            for j in range(n - 1, -1, -1):
                for row in range(j + 1, n):
                    x[j] -= a[row + j * n] * x[row]
        else:
            for j in range(n):
                for row in range(j + 1, n):
                    x[row] -= a[row + j * n] * x[j]
            for j in range(n - 1, -1, -1):
                x[j] /= a[j + j * n]
                for row in range(j):
                    x[row] -= a[row + j * n] * x[j]
    if transposed:
        for j in range(n - 1, -1, -1):
            exchange(b, n, k, j, pivots[j] - 1)


cdef void small_inverse(real* a, const i64* pivots, i64 n) noexcept nogil:
    """The factors in a become the inverse."""
    cdef real inverse[SMALL * SMALL]
    cdef i64 j
    memset(inverse, 0, n * n * sizeof(real))
    for j in range(n):
        inverse[j + j * n] = 1
    small_lu_solve(a, pivots, inverse, n, n, False)
    memcpy(a, inverse, n * n * sizeof(real))
