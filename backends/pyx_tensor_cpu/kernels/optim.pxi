# Optimizer steps in one pass over memory. Every operation is rounded as PyTorch's single-tensor optimizers round it;
# the loops go through blocks in local memory, which the compiler knows to overlap nothing.
from cpython.pycapsule cimport PyCapsule_New

from pyx_tensor_cpu.optim_table cimport Adafactor, AdafactorStep, Adam, AdamStep, AddScaled, Dot, OptimKernels, OptimTable, Rule, RuleStep, SGD, SGDStep

cdef extern from "scalar_math.h" nogil:         # for the type of its argument, whatever Cython thinks
    double m_sqrt(double)
    double m_fabs(double)

ctypedef fused Floating:
    float
    double

cdef enum:
    BLOCK = 512
    LANES = 16                  # sums that are added to in turn, so that the compiler can vectorise


cdef inline void load_gradient(Floating* g, Floating* grad, Floating* param, Py_ssize_t n, double weight_decay,
                               bint maximize) noexcept nogil:
    cdef Floating sign = -1 if maximize else 1, decay = <Floating>weight_decay
    cdef Py_ssize_t i
    if decay != 0:
        for i in range(n):
            g[i] = sign * grad[i] + decay * param[i]
    else:
        for i in range(n):
            g[i] = sign * grad[i]


cdef void sgd_step(Floating* param, Floating* grad, Floating* buf, Py_ssize_t n, SGD* h, bint first) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating momentum = <Floating>h.momentum, rest = <Floating>(1 - h.dampening), lr = <Floating>h.lr
    cdef Py_ssize_t start = 0, count, i
    if buf == NULL and h.weight_decay == 0:          # no need to pass through local memory
        lr = -lr if h.maximize else lr
        for i in range(n):
            param[i] = param[i] - lr * grad[i]
        return
    while start < n:
        count = min(n - start, <Py_ssize_t>BLOCK)
        load_gradient(g, grad + start, param + start, count, h.weight_decay, h.maximize)
        if buf != NULL:
            if first:
                for i in range(count):
                    buf[start + i] = g[i]
            else:
                for i in range(count):
                    buf[start + i] = buf[start + i] * momentum + rest * g[i]
            if h.nesterov:
                for i in range(count):
                    g[i] = g[i] + momentum * buf[start + i]
            else:
                for i in range(count):
                    g[i] = buf[start + i]
        for i in range(count):
            param[start + i] = param[start + i] - lr * g[i]
        start += BLOCK


cdef void adam_step(Floating* param, Floating* grad, Floating* avg, Floating* avg_sq, Floating* max_avg_sq, Py_ssize_t n,
                    Adam* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating second[BLOCK]
    cdef Floating new_share = <Floating>(1 - h.beta1), beta2 = <Floating>h.beta2, rest = <Floating>(1 - h.beta2)
    cdef Floating eps = <Floating>h.eps, decay = <Floating>h.decay, step = <Floating>h.step_size
    cdef Floating correction = <Floating>h.correction, m, old_share = 1 - new_share
    cdef bint near = h.beta1 > 0.5                  # lerp starts from the nearer end
    cdef Py_ssize_t start = 0, count, i
    while start < n:
        count = min(n - start, <Py_ssize_t>BLOCK)
        if decay != 1:
            for i in range(count):
                param[i] = param[i] * decay
        load_gradient(g, grad, param, count, h.weight_decay, h.maximize)
        for i in range(count):
            second[i] = avg_sq[i] * beta2 + rest * g[i] * g[i]
        for i in range(count):
            avg_sq[i] = second[i]
        if max_avg_sq != NULL:
            for i in range(count):
                m = max_avg_sq[i]
                m = second[i] if second[i] > m or second[i] != second[i] else m
                max_avg_sq[i] = m
                second[i] = m
        for i in range(count):
            second[i] = <Floating>m_sqrt(second[i]) / correction + eps
        for i in range(count):
            m = avg[i]
            g[i] = m + new_share * (g[i] - m) if near else g[i] - (g[i] - m) * old_share
        for i in range(count):
            avg[i] = g[i]
        for i in range(count):
            param[i] = param[i] - step * g[i] / second[i]
        param += BLOCK
        grad += BLOCK
        avg += BLOCK
        avg_sq += BLOCK
        if max_avg_sq != NULL:
            max_avg_sq += BLOCK
        start += BLOCK


# ---- the other optimizers: what they remember is in a, b and c, their constants in h.c ----

cdef inline Py_ssize_t begin(Floating* g, Floating* param, Floating* grad, Py_ssize_t left, Rule* h) noexcept nogil:
    """Load the gradient of a block, with weight decay; how long the block is."""
    cdef Py_ssize_t count = min(left, <Py_ssize_t>BLOCK), i
    cdef Floating shrink = <Floating>h.shrink
    if shrink != 1:
        for i in range(count):
            param[i] = param[i] * shrink
    load_gradient(g, grad, param, count, h.weight_decay, h.maximize)
    return count


cdef inline void average(Floating* mean, Floating* g, Py_ssize_t count, Floating share) noexcept nogil:
    """mean += share * (g - mean), as lerp does."""
    cdef Floating m[BLOCK]
    cdef Floating rest = 1 - share
    cdef Py_ssize_t i
    if share < 0.5:
        for i in range(count):
            m[i] = mean[i] + share * (g[i] - mean[i])
    else:
        for i in range(count):
            m[i] = g[i] - (g[i] - mean[i]) * rest
    for i in range(count):
        mean[i] = m[i]


cdef inline void average_square(Floating* result, Floating* square, Floating* g, Py_ssize_t count, double keep) noexcept nogil:
    """square = keep * square + (1 - keep) * g * g; the same in result."""
    cdef Floating kept = <Floating>keep, share = <Floating>(1 - keep)
    cdef Py_ssize_t i
    for i in range(count):
        result[i] = square[i] * kept + share * g[i] * g[i]
    for i in range(count):
        square[i] = result[i]


cdef void rmsprop_step(Floating* param, Floating* grad, Floating* square, Floating* buf, Floating* mean, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating root[BLOCK]
    cdef Floating eps = <Floating>h.eps, lr = <Floating>h.c[1], momentum = <Floating>h.c[2]
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        average_square(root, square + at, g, count, h.c[0])
        if mean != NULL:
            average(mean + at, g, count, <Floating>(1 - h.c[0]))
            for i in range(count):
                root[i] = root[i] - mean[at + i] * mean[at + i]
        for i in range(count):
            g[i] = g[i] / (<Floating>m_sqrt(root[i]) + eps)
        if buf != NULL:
            for i in range(count):
                g[i] = buf[at + i] * momentum + g[i]
            for i in range(count):
                buf[at + i] = g[i]
        for i in range(count):
            param[at + i] = param[at + i] - lr * g[i]
        at += BLOCK


cdef void adagrad_step(Floating* param, Floating* grad, Floating* total, Floating* b, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating t[BLOCK]
    cdef Floating eps = <Floating>h.eps, lr = <Floating>h.c[0]
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        for i in range(count):
            t[i] = total[at + i] + g[i] * g[i]
        for i in range(count):
            total[at + i] = t[i]
        for i in range(count):
            param[at + i] = param[at + i] - lr * g[i] / (<Floating>m_sqrt(t[i]) + eps)
        at += BLOCK


cdef void adadelta_step(Floating* param, Floating* grad, Floating* square, Floating* moved, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating t[BLOCK]
    cdef Floating eps = <Floating>h.eps, lr = <Floating>h.c[1]
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        average_square(t, square + at, g, count, h.c[0])
        for i in range(count):
            g[i] = <Floating>m_sqrt(moved[at + i] + eps) / <Floating>m_sqrt(t[i] + eps) * g[i]
        average_square(t, moved + at, g, count, h.c[0])
        for i in range(count):
            param[at + i] = param[at + i] - lr * g[i]
        at += BLOCK


cdef void adamax_step(Floating* param, Floating* grad, Floating* mean, Floating* largest, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating t[BLOCK]
    cdef Floating beta2 = <Floating>h.c[1], eps = <Floating>h.eps, lr = <Floating>h.c[2], u, v
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        average(mean + at, g, count, <Floating>h.c[0])
        for i in range(count):
            u = largest[at + i] * beta2
            v = <Floating>m_fabs(g[i]) + eps
            t[i] = u if u >= v or u != u else v
        for i in range(count):
            largest[at + i] = t[i]
        for i in range(count):
            param[at + i] = param[at + i] - lr * mean[at + i] / t[i]
        at += BLOCK


cdef void nadam_step(Floating* param, Floating* grad, Floating* mean, Floating* square, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating t[BLOCK]
    cdef Floating correction = <Floating>(1 / h.c[2]), of_gradient = <Floating>h.c[3], of_mean = <Floating>h.c[4], eps = <Floating>h.eps
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        average(mean + at, g, count, <Floating>h.c[0])
        average_square(t, square + at, g, count, h.c[1])
        for i in range(count):
            t[i] = <Floating>m_sqrt(t[i] * correction) + eps
        for i in range(count):
            g[i] = param[at + i] - of_gradient * g[i] / t[i]
        for i in range(count):
            param[at + i] = g[i] - of_mean * mean[at + i] / t[i]
        at += BLOCK


cdef void radam_step(Floating* param, Floating* grad, Floating* mean, Floating* square, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating t[BLOCK]
    cdef Floating eps = <Floating>h.eps, lr = <Floating>h.c[3]
    cdef bint rectified = h.c[2] != 0
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        average(mean + at, g, count, <Floating>h.c[0])
        average_square(t, square + at, g, count, h.c[1])
        if rectified:
            for i in range(count):
                param[at + i] = param[at + i] - lr * mean[at + i] / (<Floating>m_sqrt(t[i]) + eps)
        else:
            for i in range(count):
                param[at + i] = param[at + i] - lr * mean[at + i]
        at += BLOCK


cdef void asgd_step(Floating* param, Floating* grad, Floating* mean, Floating* b, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating keep = <Floating>h.c[0], eta = <Floating>h.c[1], mu = <Floating>h.c[2]
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        for i in range(count):
            g[i] = param[at + i] * keep - eta * g[i]
        for i in range(count):
            param[at + i] = g[i]
        if mu == 1:
            for i in range(count):
                mean[at + i] = g[i]
        else:
            for i in range(count):
                mean[at + i] = mean[at + i] + mu * (g[i] - mean[at + i])
        at += BLOCK


cdef void rprop_step(Floating* param, Floating* grad, Floating* before, Floating* size, Floating* c, Py_ssize_t n, Rule* h) noexcept nogil:
    cdef Floating g[BLOCK]
    cdef Floating shrink = <Floating>h.c[0], grow = <Floating>h.c[1], least = <Floating>h.c[2], most = <Floating>h.c[3], same, s
    cdef Py_ssize_t at = 0, count, i
    while at < n:
        count = begin(g, param + at, grad + at, n - at, h)
        for i in range(count):
            same = g[i] * before[at + i]
            s = size[at + i] * (grow if same > 0 else shrink if same < 0 else 1)
            s = least if s < least else most if s > most else s
            size[at + i] = s
            g[i] = 0 if same < 0 else g[i]
            param[at + i] = param[at + i] - (s if g[i] > 0 else -s if g[i] < 0 else 0 * g[i])
        for i in range(count):
            before[at + i] = g[i]
        at += BLOCK


# ---- Adafactor: the update must be known as a whole before it is cut, so the gradient is read three times ----

cdef inline double sum_of(double* lanes) noexcept nogil:
    cdef double total = 0
    cdef int i
    for i in range(LANES):
        total += lanes[i]
    return total


cdef inline void add_squares(double* lanes, Floating* x, Py_ssize_t n) noexcept nogil:
    """Add the squares of x to the sums."""
    cdef Py_ssize_t at = 0, i
    while at + LANES <= n:
        for i in range(LANES):
            lanes[i] += x[at + i] * x[at + i]
        at += LANES
    for i in range(n - at):
        lanes[i] += x[at + i] * x[at + i]


cdef inline Floating mixed(Floating old, double value, double share) noexcept nogil:
    """old + share (value - old), as lerp does."""
    cdef Floating new = <Floating>value, part = <Floating>share
    return old + part * (new - old) if share < 0.5 else new - (new - old) * (1 - part)


cdef Floating average_places(Floating* grad, Floating* first, Floating* second, double* sums, Adafactor* h) noexcept nogil:
    """Take a matrix's squares into the averages of its rows and columns; the mean of the rows' averages, at least `least_square`."""
    cdef double lanes[LANES]
    cdef double total = 0
    cdef Floating* row
    cdef Floating square
    cdef Py_ssize_t i, j
    for j in range(h.columns):
        sums[j] = 0
    for i in range(h.rows):
        row = grad + i * h.columns
        for j in range(LANES):
            lanes[j] = 0
        add_squares(lanes, row, h.columns)
        for j in range(h.columns):
            square = row[j] * row[j]
            sums[j] += square
        first[i] = mixed(first[i], sum_of(lanes) / h.columns, h.share)
        total += first[i]
    for j in range(h.columns):
        second[j] = mixed(second[j], sums[j] / h.rows, h.share)
    total /= h.rows
    return <Floating>(h.least_square if total < h.least_square else total)


cdef inline void scaled(Floating* update, Floating* grad, Floating* averages, Py_ssize_t n, Floating factor, Floating divisor,
                        Floating least) noexcept nogil:
    """update = grad / sqrt(max(averages * factor / divisor, least))"""
    cdef Floating v
    cdef Py_ssize_t i
    for i in range(n):
        v = averages[i] * factor / divisor
        update[i] = grad[i] * (1 / <Floating>m_sqrt(least if v < least else v))


cdef double adafactor_pass(Floating* param, Floating* grad, Floating* first, Floating* second, double* scratch, Adafactor* h,
                           double size) noexcept nogil:
    """The sum of the squares of the update; where a parameter is given, `size` times the update is added to it."""
    cdef Floating u[BLOCK]
    cdef double lanes[LANES]
    cdef Floating divisor = 1, factor = 1, least = <Floating>(h.least_square * h.least_square)
    cdef Floating shrink = <Floating>h.shrink, step = <Floating>size
    cdef Floating* averages
    cdef Py_ssize_t m, i, j, k, at, count
    for j in range(LANES):
        lanes[j] = 0
    for m in range(h.matrices):
        if second != NULL:
            divisor = <Floating>scratch[h.columns + m]
        for i in range(h.rows):
            averages = first
            if second != NULL:
                factor = first[m * h.rows + i]
                averages = second + m * h.columns
            j = 0
            while j < h.columns:
                count = min(h.columns - j, <Py_ssize_t>BLOCK)
                at = (m * h.rows + i) * h.columns + j
                scaled(u, grad + at, averages + j, count, factor, divisor, least)
                if param == NULL:
                    add_squares(lanes, u, count)
                else:
                    for k in range(count):
                        param[at + k] = param[at + k] * shrink + step * u[k]
                j += BLOCK
    return sum_of(lanes)


cdef void adafactor_step(Floating* param, Floating* grad, Floating* first, Floating* second, double* scratch, Adafactor* h) noexcept nogil:
    cdef Py_ssize_t n = h.matrices * h.rows * h.columns, m, j
    cdef double lanes[LANES]
    cdef double size, cut
    if n == 0:
        return
    for j in range(LANES):
        lanes[j] = 0
    add_squares(lanes, param, n)
    size = m_sqrt(sum_of(lanes) / n)
    size = (size if size > h.least_size else h.least_size) * h.size
    if second != NULL:
        for m in range(h.matrices):
            scratch[h.columns + m] = average_places(grad + m * h.rows * h.columns, first + m * h.rows, second + m * h.columns, scratch, h)
    else:
        for j in range(n):
            first[j] = mixed(first[j], grad[j] * grad[j], h.share)
    cut = m_sqrt(adafactor_pass(<Floating*>NULL, grad, first, second, scratch, h, 0) / n) / h.most
    size /= cut if cut > 1 else 1
    adafactor_pass(param, grad, first, second, scratch, h, size if h.maximize else -size)


# ---- vectors of L-BFGS ----

cdef double dot(Floating* x, Floating* y, Py_ssize_t n) noexcept nogil:
    cdef Floating lanes[LANES]
    cdef double total = 0
    cdef Py_ssize_t at = 0, i
    for i in range(LANES):
        lanes[i] = 0
    while at + LANES <= n:
        for i in range(LANES):
            lanes[i] += x[at + i] * y[at + i]
        at += LANES
    for i in range(n - at):
        lanes[i] += x[at + i] * y[at + i]
    for i in range(LANES):
        total += lanes[i]
    return total


cdef void add_scaled(Floating* y, Floating* x, double alpha, Py_ssize_t n) noexcept nogil:
    cdef Floating factor = <Floating>alpha
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = y[i] + factor * x[i]


cdef OptimTable TABLE


cdef void fill(OptimKernels* k, Floating* t) noexcept:
    k.dot = <Dot>dot[Floating]
    k.add_scaled = <AddScaled>add_scaled[Floating]
    k.sgd = <SGDStep>sgd_step[Floating]
    k.adam = <AdamStep>adam_step[Floating]
    k.adafactor = <AdafactorStep>adafactor_step[Floating]
    k.rules[0] = <RuleStep>rmsprop_step[Floating]
    k.rules[1] = <RuleStep>adagrad_step[Floating]
    k.rules[2] = <RuleStep>adadelta_step[Floating]
    k.rules[3] = <RuleStep>adamax_step[Floating]
    k.rules[4] = <RuleStep>nadam_step[Floating]
    k.rules[5] = <RuleStep>radam_step[Floating]
    k.rules[6] = <RuleStep>asgd_step[Floating]
    k.rules[7] = <RuleStep>rprop_step[Floating]


fill(&TABLE.single, <float*>NULL)
fill(&TABLE.double_, <double*>NULL)
table = PyCapsule_New(&TABLE, NULL, NULL)
