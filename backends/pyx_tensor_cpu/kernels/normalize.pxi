# Softmax and layer normalisation of float32 and float64, each a few passes over data that stays in the cache.
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.normalize_table cimport (
    COLUMN_TILE, ChannelBackward, ChannelNorm, Channels, ChannelStatistics, ChannelSums, LayerNorm, LayerNormBackward, NormalizeKernels, NormalizeTable, SoftmaxBackwardColumns,
    SoftmaxBackwardRows, SoftmaxColumns, SoftmaxRows,
)

include "../kernels/rows.pxi"


# ---- softmax ----------------------------------------------------------------------------------------------------------

cdef inline void finish_softmax(Floating* a, Floating* e, Floating* y, Py_ssize_t n, Floating top, Floating last, bint log) noexcept nogil:
    """e, the exponentials of a - top, times `last`, which is one over their total; or the logarithm, `last` being that of the total."""
    cdef Py_ssize_t i
    if log:
        for i in range(n):
            y[i] = (a[i] - top) - last
    else:
        for i in range(n):
            y[i] = e[i] * last


cdef void softmax_short_rows(Floating* a, Floating* y, Py_ssize_t rows, Py_ssize_t n, bint log) noexcept nogil:
    """Several rows that fit one block, so that even the exponentials of rows of two elements are vectors."""
    cdef Floating e[BLOCK]
    cdef Floating top[BLOCK]
    cdef Floating total[BLOCK]
    cdef Py_ssize_t row, i
    for row in range(rows):
        top[row] = row_max(a + row * n, n)
        if n >= LONG_ROW:
            for i in range(n):
                e[row * n + i] = m_exp(a[row * n + i] - top[row])
        else:
            for i in range(n):
                e[row * n + i] = a[row * n + i] - top[row]
    if n < LONG_ROW:
        for i in range(rows * n):
            e[i] = m_exp(e[i])
    for row in range(rows):
        total[row] = block_sum(e + row * n, e, e, <Floating>0, n, <Plain*>NULL)
    for row in range(rows):
        total[row] = m_log(total[row]) if log else 1 / total[row]
    for row in range(rows):
        finish_softmax(a + row * n, e + row * n, y + row * n, n, top[row], total[row], log)


cdef void softmax_long_row(Floating* a, Floating* y, Py_ssize_t n, bint log) noexcept nogil:
    cdef Floating e[BLOCK]
    cdef Floating top = row_max(a, n)
    cdef double total = 0
    cdef Py_ssize_t start = 0, count, i
    while start < n:
        count = min(n - start, <Py_ssize_t>BLOCK)
        for i in range(count):
            e[i] = m_exp(a[start + i] - top)
        total += block_sum(<Floating*>e, e, e, <Floating>0, count, <Plain*>NULL)
        if not log:
            for i in range(count):
                y[start + i] = e[i]
        start += BLOCK
    finish_softmax(a, y, y, n, top, <Floating>m_log(total) if log else <Floating>(1 / total), log)


cdef void softmax_rows(Floating* a, Floating* y, Py_ssize_t rows, Py_ssize_t n, bint log) noexcept nogil:
    cdef Py_ssize_t row = 0, count
    while row < rows:
        if n > BLOCK:
            count = 1
            softmax_long_row(a + row * n, y + row * n, n, log)
        else:
            count = min(rows - row, BLOCK // n)
            softmax_short_rows(a + row * n, y + row * n, count, n, log)
        row += count


cdef void softmax_columns(Floating* a, Floating* y, Py_ssize_t n, Py_ssize_t inner, Py_ssize_t width, bint log) noexcept nogil:
    cdef Floating top[COLUMN_TILE]
    cdef Floating total[COLUMN_TILE]
    cdef Floating e
    cdef Py_ssize_t i, j
    for j in range(width):
        top[j] = a[j]
        total[j] = 0
    for i in range(1, n):
        for j in range(width):
            top[j] = a[i * inner + j] if a[i * inner + j] > top[j] else top[j]
    for i in range(n):
        for j in range(width):
            e = m_exp(a[i * inner + j] - top[j])
            total[j] += e
            y[i * inner + j] = e
    for j in range(width):
        total[j] = m_log(total[j]) if log else 1 / total[j]
    for i in range(n):
        if log:
            for j in range(width):
                y[i * inner + j] = (a[i * inner + j] - top[j]) - total[j]
        else:
            for j in range(width):
                y[i * inner + j] *= total[j]


cdef void softmax_backward_rows(Floating* g, Floating* y, Floating* ga, Py_ssize_t rows, Py_ssize_t n, bint log) noexcept nogil:
    cdef Floating total
    cdef Py_ssize_t i
    for _ in range(rows):
        if log:
            total = row_sum(g, g, g, <Floating>0, n, <Plain*>NULL)
            for i in range(n):
                ga[i] = g[i] - <Floating>m_exp(y[i]) * total
        else:
            total = row_sum(g, y, g, <Floating>0, n, <Dot*>NULL)
            for i in range(n):
                ga[i] = (g[i] - total) * y[i]
        g += n
        y += n
        ga += n


cdef void softmax_backward_columns(Floating* g, Floating* y, Floating* ga, Py_ssize_t n, Py_ssize_t inner,
                                   Py_ssize_t width, bint log) noexcept nogil:
    cdef Floating total[COLUMN_TILE]
    cdef Py_ssize_t i, j
    for j in range(width):
        total[j] = 0
    for i in range(n):
        for j in range(width):
            total[j] += g[i * inner + j] if log else g[i * inner + j] * y[i * inner + j]
    for i in range(n):
        if log:
            for j in range(width):
                ga[i * inner + j] = g[i * inner + j] - <Floating>m_exp(y[i * inner + j]) * total[j]
        else:
            for j in range(width):
                ga[i * inner + j] = (g[i * inner + j] - total[j]) * y[i * inner + j]


# ---- layer normalisation ----------------------------------------------------------------------------------------------

cdef void layer_norm(Floating* a, Floating* weight, Floating* bias, Floating* y, Floating* mean, Floating* rstd,
                     Py_ssize_t rows, Py_ssize_t n, double eps) noexcept nogil:
    cdef Floating centre, scale
    cdef Py_ssize_t row, i
    for row in range(rows):
        centre = <Floating>(row_sum(a, a, a, <Floating>0, n, <Plain*>NULL) / n)
        scale = <Floating>(1 / m_sqrt(row_sum(a, a, a, centre, n, <Square*>NULL) / n + eps))
        mean[row] = centre
        rstd[row] = scale
        for i in range(n):
            y[i] = (a[i] - centre) * scale * weight[i] + bias[i]
        a += n
        y += n


cdef void layer_norm_backward(Floating* g, Floating* a, Floating* mean, Floating* rstd, Floating* weight, Floating* ga,
                              Floating* gw, Floating* gb, Py_ssize_t rows, Py_ssize_t n) noexcept nogil:
    cdef Floating centre, scale, flat, slope
    cdef Py_ssize_t row, i
    for row in range(rows):
        centre = mean[row]
        scale = rstd[row]
        if ga != NULL:
            flat = <Floating>(row_sum(g, weight, a, centre, n, <Dot*>NULL) / n)
            slope = <Floating>(row_sum(g, weight, a, centre, n, <Deviation*>NULL) * scale * scale / n)
            for i in range(n):
                ga[i] = (g[i] * weight[i] - flat - (a[i] - centre) * slope) * scale
            if n == 1:
                ga[0] = 0               # exactly, where rounding would leave something for the large scale
            ga += n
        if gw != NULL:
            for i in range(n):
                gw[i] += g[i] * ((a[i] - centre) * scale)
        if gb != NULL:
            for i in range(n):
                gb[i] += g[i]
        g += n
        a += n


# ---- normalisation of channels ------------------------------------------------------------------------------------------

# Where a channel has one element per sample, the inner loop is over channels, else over a channel's elements.

cdef void channel_statistics(Floating* a, Floating* mean, Floating* var, Channels* s) noexcept nogil:
    cdef double total[COLUMN_TILE]
    cdef double sum
    cdef Py_ssize_t count = s.samples * s.size, step = s.channels * s.size, i, j, c
    cdef Floating d
    if s.size == 1:
        for j in range(s.count):
            total[j] = 0
        for i in range(s.samples):
            for j in range(s.count):
                total[j] += a[i * step + s.first + j]
        for j in range(s.count):
            mean[s.first + j] = <Floating>(total[j] / count)
            total[j] = 0
        for i in range(s.samples):
            for j in range(s.count):
                d = a[i * step + s.first + j] - mean[s.first + j]
                total[j] += d * d
        for j in range(s.count):
            var[s.first + j] = <Floating>(total[j] / count)
        return
    for c in range(s.first, s.first + s.count):
        sum = 0
        for i in range(s.samples):
            sum += row_sum(a + i * step + c * s.size, a, a, <Floating>0, s.size, <Plain*>NULL)
        mean[c] = <Floating>(sum / count)
        sum = 0
        for i in range(s.samples):
            sum += row_sum(a + i * step + c * s.size, a, a, mean[c], s.size, <Square*>NULL)
        var[c] = <Floating>(sum / count)


cdef void channel_norm(Floating* a, Floating* mean, Floating* scale, Floating* bias, Floating* y, Channels* s) noexcept nogil:
    cdef Py_ssize_t step = s.channels * s.size, i, j, c
    cdef Floating centre, factor, shift
    cdef Floating* p
    cdef Floating* q
    for i in range(s.samples):
        if s.size == 1:
            for j in range(s.first, s.first + s.count):
                y[i * step + j] = (a[i * step + j] - mean[j]) * scale[j] + bias[j]
            continue
        for c in range(s.first, s.first + s.count):
            p, q = a + i * step + c * s.size, y + i * step + c * s.size
            centre, factor, shift = mean[c], scale[c], bias[c]
            for j in range(s.size):
                q[j] = (p[j] - centre) * factor + shift


cdef void channel_sums(Floating* g, Floating* a, Floating* mean, Floating* sum, Floating* moment, Channels* s) noexcept nogil:
    cdef double first[COLUMN_TILE]
    cdef double second[COLUMN_TILE]
    cdef double total, product
    cdef Py_ssize_t step = s.channels * s.size, i, j, c, at
    if s.size == 1:
        for j in range(s.count):
            first[j] = second[j] = 0
        for i in range(s.samples):
            at = i * step + s.first
            for j in range(s.count):
                first[j] += g[at + j]
                second[j] += g[at + j] * (a[at + j] - mean[s.first + j])
        for j in range(s.count):
            sum[s.first + j] = <Floating>first[j]
            moment[s.first + j] = <Floating>second[j]
        return
    for c in range(s.first, s.first + s.count):
        total = product = 0
        for i in range(s.samples):
            at = i * step + c * s.size
            total += row_sum(g + at, g, g, <Floating>0, s.size, <Plain*>NULL)
            product += row_sum(g + at, g, a + at, mean[c], s.size, <Moment*>NULL)
        sum[c] = <Floating>total
        moment[c] = <Floating>product


cdef void channel_backward(Floating* g, Floating* a, Floating* mean, Floating* flat, Floating* slope, Floating* scale, Floating* ga,
                           Channels* s) noexcept nogil:
    cdef Py_ssize_t step = s.channels * s.size, i, j, c, at
    cdef Floating centre, level, tilt, factor
    for i in range(s.samples):
        at = i * step
        if s.size == 1:
            for j in range(s.first, s.first + s.count):
                ga[at + j] = g[at + j] * scale[j] - flat[j] - (a[at + j] - mean[j]) * slope[j]
            continue
        for c in range(s.first, s.first + s.count):
            at = i * step + c * s.size
            centre, level, tilt, factor = mean[c], flat[c], slope[c], scale[c]
            for j in range(s.size):
                ga[at + j] = g[at + j] * factor - level - (a[at + j] - centre) * tilt


# ---- the table --------------------------------------------------------------------------------------------------------

cdef NormalizeTable TABLE


cdef void fill(NormalizeKernels* k, Floating* t) noexcept:
    k.softmax_rows = <SoftmaxRows>softmax_rows[Floating]
    k.softmax_columns = <SoftmaxColumns>softmax_columns[Floating]
    k.softmax_backward_rows = <SoftmaxBackwardRows>softmax_backward_rows[Floating]
    k.softmax_backward_columns = <SoftmaxBackwardColumns>softmax_backward_columns[Floating]
    k.layer_norm = <LayerNorm>layer_norm[Floating]
    k.layer_norm_backward = <LayerNormBackward>layer_norm_backward[Floating]
    k.channel_statistics = <ChannelStatistics>channel_statistics[Floating]
    k.channel_norm = <ChannelNorm>channel_norm[Floating]
    k.channel_sums = <ChannelSums>channel_sums[Floating]
    k.channel_backward = <ChannelBackward>channel_backward[Floating]


fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
table = PyCapsule_New(&TABLE, NULL, NULL)
