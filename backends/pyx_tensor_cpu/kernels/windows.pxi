# Windows of images as columns of a matrix. Included by convolution.pxi.

# Columns of a panel whose windows lie in one row of the grid.
cdef struct Run:
    Py_ssize_t column
    Py_ssize_t length
    Py_ssize_t image            # where its image begins
    Py_ssize_t start[3]         # of the first window, in the image
    Py_ssize_t out              # its place in a plane of the result


cdef int find_runs(const Windows* s, Py_ssize_t first, Py_ssize_t count, Run* runs) noexcept nogil:
    """The runs of columns [first, first + count); returns how many."""
    cdef Py_ssize_t at = 0, w, h, d, image
    cdef int n = 0
    while at < count:
        w = (first + at) % s.grid[2]
        h = (first + at) // s.grid[2]
        d = h // s.grid[1]
        h = h % s.grid[1]
        image = d // s.grid[0]
        d = d % s.grid[0]
        runs[n].column = at
        runs[n].length = min(s.grid[2] - w, count - at)
        runs[n].image = image * s.image
        runs[n].start[0] = d * s.step[0]
        runs[n].start[1] = h * s.step[1]
        runs[n].start[2] = w * s.step[2]
        runs[n].out = ((s.out_start[0] + d * s.out_step[0]) * s.out_size[1] + s.out_start[1] + h * s.out_step[1]) * s.out_size[2] \
            + s.out_start[2] + w * s.out_step[2] + image * s.out_image
        at += runs[n].length
        n += 1
    return n


# Where a tap of a run's windows lies in the image: `inside` of the windows from `lead` on, in elements of a plane.
cdef struct Part:
    Py_ssize_t lead
    Py_ssize_t inside
    Py_ssize_t offset


cdef inline Part part_of(const Windows* s, const Run* run, const Py_ssize_t* offset) noexcept nogil:
    cdef Py_ssize_t d = run.start[0] + offset[0], h = run.start[1] + offset[1], w = run.start[2] + offset[2], step = s.step[2], end
    cdef Part part = Part(lead=0, inside=0, offset=0)
    if d < 0 or d >= s.size[0] or h < 0 or h >= s.size[1] or w >= s.size[2]:
        return part
    if step == 1:
        part.lead = min(max(-w, 0), run.length)
        end = min(s.size[2] - w, run.length)
    else:
        part.lead = min((step - 1 - w) // step, run.length) if w < 0 else 0
        end = min((s.size[2] - w + step - 1) // step, run.length)
    part.inside = max(end - part.lead, 0)
    part.offset = (d * s.size[1] + h) * s.size[2] + w + part.lead * step
    return part


cdef inline void copy_row(const real* source, real* to, Py_ssize_t count) noexcept nogil:
    if real is float:
        tile_f32_copy(source, to, count)
    else:
        tile_f64_copy(source, to, count)


cdef inline void copy_part(const real* x, Py_ssize_t step, const Part* part, Py_ssize_t length, real* to) noexcept nogil:
    """`length` elements, zeros outside of the image."""
    cdef Py_ssize_t j
    cdef real* inner = to + part.lead
    for j in range(part.lead):
        to[j] = 0
    if step == 1:
        copy_row(x + part.offset, inner, part.inside)
    elif step == 2:
        for j in range(part.inside):
            inner[j] = x[part.offset + 2 * j]
    else:
        for j in range(part.inside):
            inner[j] = x[part.offset + step * j]
    for j in range(part.lead + part.inside, length):
        to[j] = 0


cdef void pack_columns(const Windows* s, const real* x, const Run* runs, int n_runs, Py_ssize_t channel, Py_ssize_t channels, Py_ssize_t width,
                       real* panel) noexcept nogil:
    """Rows of some channels of the columns' matrix, each `width` long."""
    cdef Py_ssize_t plane = s.size[0] * s.size[1] * s.size[2], t, c, j, length = runs[n_runs - 1].column + runs[n_runs - 1].length
    cdef Part part
    cdef real* to
    cdef int r
    for t in range(s.taps):
        for r in range(n_runs):
            part = part_of(s, &runs[r], s.offset + 3 * t)
            for c in range(channels):
                to = panel + (c * s.taps + t) * width + runs[r].column
                copy_part(x + runs[r].image + (channel + c) * plane, s.step[2], &part, runs[r].length, to)
    for c in range(channels * s.taps):
        for j in range(length, width):
            panel[c * width + j] = 0
