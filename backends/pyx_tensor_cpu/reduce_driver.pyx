"""The driver of all reductions: from an array and a set of dims to calls of the kernels' leaves.

The dims are coalesced and sorted into kept and reduced ones. Kept elements are taken in tiles of neighbours; the
reduced range of a tile is halved until it is a leaf, and the halves' results are merged, so every reduction is a
balanced tree, whose shape depends on sizes and strides alone: the number of threads never changes a result.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.stdlib cimport free, malloc

import numpy as np

from pyx_tensor_cpu.dtypes cimport code_of, dtype_of
from pyx_tensor_cpu.iterate cimport contiguous
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.reduce_table cimport (
    ARGMAX, ARGMIN, COPY, EXPONENTIALS, EXTREMA, KEPT_TILE, MOMENTS, PRODUCT, Fold, Load, LoadMap, Merge, ReduceOp, ReduceTable,
)

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    LOAD_TILE = 4096        # elements converted at a time
    FOLD_TILE = 32768       # elements one fold is asked for
    FEW_JOBS = 8            # with fewer tiles than this, the reduced range of a big array is divided
    PIECES = 16             # into so many pieces
    BIG = 1 << 17           # elements from which it pays
    PRODUCT_LEAF = 1 << 16  # a product is no more accurate as a tree, and one that goes to 0 passes through the slow subnormal numbers in each leaf
    SHORT = 64              # elements below which a call of a leaf costs more than its work

cdef struct Axes:
    int n
    Py_ssize_t size[MAX_DIMS]
    Py_ssize_t stride[MAX_DIMS]

cdef struct Plan:
    Fold fold
    Merge merge
    Load load               # NULL where the fold reads the array itself
    char* data
    char* out
    char* extra
    char* parts             # results of the second and later pieces
    char* parts_extra
    Axes kept
    Axes reduced
    bint runs               # the reduced elements, not the kept ones, are the neighbours in memory
    Py_ssize_t item         # bytes of an element as the fold takes it
    Py_ssize_t out_item
    Py_ssize_t extra_item
    Py_ssize_t kept_total
    Py_ssize_t reduced_total
    Py_ssize_t tile         # kept elements of a job
    Py_ssize_t leaf         # reduced elements of a leaf
    Py_ssize_t piece        # reduced elements of a job

cdef ReduceTable* table = NULL


def bind(module):
    global table
    table = <ReduceTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("reduce", bind)


cdef ReduceTable* kernels() noexcept nogil:
    return table


# ---- planning -------------------------------------------------------------------------------------------------------

cdef void append_axis(Axes* axes, Py_ssize_t size, Py_ssize_t stride) noexcept nogil:
    """Add an inner axis, merged with the one outside it where the two are one run of memory."""
    cdef int last = axes.n - 1
    if size == 1:
        return
    if axes.n and axes.stride[last] == size * stride:
        axes.size[last] *= size
        axes.stride[last] = stride
    else:
        axes.size[axes.n] = size
        axes.stride[axes.n] = stride
        axes.n += 1


cdef void append_sorted(Axes* axes, cnp.ndarray a, const bint* chosen) noexcept:
    """Add the chosen dims of a, the largest stride first."""
    cdef int order[MAX_DIMS]
    cdef int count = 0, i, j
    for i in range(cnp.PyArray_NDIM(a)):
        if chosen[i]:
            j = count
            while j > 0 and abs(cnp.PyArray_STRIDE(a, order[j - 1])) < abs(cnp.PyArray_STRIDE(a, i)):
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            count += 1
    for i in range(count):
        append_axis(axes, cnp.PyArray_DIM(a, order[i]), cnp.PyArray_STRIDE(a, order[i]))


cdef Py_ssize_t close_axes(Axes* axes) noexcept nogil:
    """Make sure that there is an innermost axis; the number of elements."""
    cdef Py_ssize_t total = 1
    cdef int i
    if axes.n == 0:
        axes.n = 1
        axes.size[0] = 1
        axes.stride[0] = 0
    for i in range(axes.n):
        total *= axes.size[i]
    return total


cdef inline Py_ssize_t offset_of(const Axes* axes, Py_ssize_t index) noexcept nogil:
    cdef Py_ssize_t offset = 0
    cdef int i
    for i in range(axes.n - 1, 0, -1):
        offset += index % axes.size[i] * axes.stride[i]
        index //= axes.size[i]
    return offset + index * axes.stride[0]


cdef inline Py_ssize_t clamp(Py_ssize_t value, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    return min(max(value, low), high)


cdef void choose_tiles(Plan* p, ReduceOp op) noexcept nogil:
    cdef Py_ssize_t kept = p.kept.size[p.kept.n - 1], reduced = p.reduced.size[p.reduced.n - 1]
    cdef Py_ssize_t budget = FOLD_TILE if p.load == NULL else LOAD_TILE
    if p.runs:
        p.leaf = min(reduced, <Py_ssize_t>(PRODUCT_LEAF if op == PRODUCT and p.load == NULL else LEAF))
        p.tile = clamp(budget // p.leaf, 1, min(kept, <Py_ssize_t>KEPT_TILE))
    else:
        p.tile = min(kept, <Py_ssize_t>(KEPT_TILE if p.load == NULL else KEPT_TILE // 4))
        p.leaf = clamp(budget // p.tile, 1, LEAF)
    p.piece = p.reduced_total
    if p.kept_total // p.tile < FEW_JOBS and p.kept_total * p.reduced_total >= BIG:
        p.piece = (p.reduced_total // PIECES // p.leaf + 1) * p.leaf


cdef void make_plan(Plan* p, ReduceOp op, LoadMap map, int code, int a_code, cnp.ndarray a, const bint* is_reduced,
                    Py_ssize_t item) noexcept:
    cdef Py_ssize_t kept_stride, reduced_stride
    cdef int i
    p.fold = table.kernel[<int>op][code].fold
    p.merge = table.kernel[<int>op][code].merge
    p.data = cnp.PyArray_BYTES(a)
    p.item = item
    p.out_item = 8 if op == MOMENTS else item
    p.extra_item = item if op == EXTREMA else 8 if op == MOMENTS or op == ARGMAX or op == ARGMIN or op == EXPONENTIALS else 0
    p.kept.n = p.reduced.n = 0
    for i in range(cnp.PyArray_NDIM(a)):
        if not is_reduced[i]:
            append_axis(&p.kept, cnp.PyArray_DIM(a, i), cnp.PyArray_STRIDE(a, i))
    append_sorted(&p.reduced, a, is_reduced)
    p.kept_total = close_axes(&p.kept)
    p.reduced_total = close_axes(&p.reduced)
    kept_stride = abs(p.kept.stride[p.kept.n - 1])
    reduced_stride = abs(p.reduced.stride[p.reduced.n - 1])
    p.runs = p.kept_total == 1 or (reduced_stride != 0 and (kept_stride == 0 or reduced_stride < kept_stride))
    p.load = table.load[<int>map][a_code]
    if map == COPY and item == (p.reduced.stride[p.reduced.n - 1] if p.runs else p.kept.stride[p.kept.n - 1]):
        p.load = NULL
    choose_tiles(p, op)


# ---- running --------------------------------------------------------------------------------------------------------

cdef void loaded_leaf(Plan* p, const char* a, Py_ssize_t kept, Py_ssize_t reduced, char* out, char* extra) noexcept nogil:
    cdef double tile[2 * LOAD_TILE]
    cdef Py_ssize_t kept_stride = p.kept.stride[p.kept.n - 1], reduced_stride = p.reduced.stride[p.reduced.n - 1]
    if p.runs:
        p.load(a, kept, kept_stride, reduced, reduced_stride, <char*>tile, NULL)
        p.fold(<char*>tile, kept, reduced * p.item, reduced, p.item, out, extra, NULL)
    else:
        p.load(a, reduced, reduced_stride, kept, kept_stride, <char*>tile, NULL)
        p.fold(<char*>tile, kept, p.item, reduced, kept * p.item, out, extra, NULL)


cdef void reduce_range(Plan* p, const char* a, Py_ssize_t kept, Py_ssize_t start, Py_ssize_t stop,
                       char* out, char* extra) noexcept nogil:
    """Reduce the elements start to stop, counted over all reduced axes, of each of kept neighbours from a on."""
    cdef double part[2 * KEPT_TILE]
    cdef double part_extra[KEPT_TILE]
    cdef Py_ssize_t run = p.reduced.size[p.reduced.n - 1], first = start // run, last = (stop - 1) // run, middle
    if first == last and stop - start <= p.leaf:
        a += offset_of(&p.reduced, start)
        if p.load == NULL:
            p.fold(a, kept, p.kept.stride[p.kept.n - 1], stop - start, p.reduced.stride[p.reduced.n - 1], out, extra, NULL)
        else:
            loaded_leaf(p, a, kept, stop - start, out, extra)
        return
    if first == last:
        middle = start + ((stop - start) // 2 + p.leaf - 1) // p.leaf * p.leaf
    else:
        middle = (first + last + 1) // 2 * run
    reduce_range(p, a, kept, start, middle, out, extra)
    reduce_range(p, a, kept, middle, stop, <char*>part, <char*>part_extra)
    p.merge(out, extra, <char*>part, <char*>part_extra, kept, middle - start, stop - middle, NULL)


cdef void run_job(Plan* p, Py_ssize_t job, Py_ssize_t tiles, Py_ssize_t pieces) noexcept nogil:
    """A job is one piece of the reduced range of one tile of kept elements."""
    cdef Py_ssize_t width = p.kept.size[p.kept.n - 1], piece = job % pieces, tile = job // pieces
    cdef Py_ssize_t outer = tile // tiles, begin = tile % tiles * p.tile, index = outer * width + begin
    cdef Py_ssize_t start = piece * p.piece
    cdef char* out = p.out
    cdef char* extra = p.extra
    if piece > 0:
        out = p.parts + (piece - 1) * p.kept_total * p.out_item
        extra = p.parts_extra + (piece - 1) * p.kept_total * p.extra_item
    reduce_range(p, p.data + offset_of(&p.kept, index), min(p.tile, width - begin), start,
                 min(start + p.piece, p.reduced_total), out + index * p.out_item, extra + index * p.extra_item)


cdef int run(Plan* p) except -1:
    cdef Py_ssize_t width = p.kept.size[p.kept.n - 1], tiles = (width + p.tile - 1) // p.tile, job, piece
    cdef Py_ssize_t pieces = (p.reduced_total + p.piece - 1) // p.piece, jobs = p.kept_total // width * tiles * pieces
    cdef int threads = threads_for(p.kept_total * p.reduced_total) if jobs > 1 else 1
    p.parts = NULL
    if pieces > 1:
        p.parts = <char*>malloc((pieces - 1) * p.kept_total * (p.out_item + p.extra_item))
        if p.parts == NULL:
            raise MemoryError(f"no memory for the partial results of {pieces} pieces of {p.kept_total} elements")
        p.parts_extra = p.parts + (pieces - 1) * p.kept_total * p.out_item
    if threads == 1:
        for job in range(jobs):
            run_job(p, job, tiles, pieces)
    else:
        for job in prange(jobs, nogil=True, num_threads=threads, schedule="static"):
            run_job(p, job, tiles, pieces)
    for piece in range(1, pieces):
        p.merge(p.out, p.extra, p.parts + (piece - 1) * p.kept_total * p.out_item,
                p.parts_extra + (piece - 1) * p.kept_total * p.extra_item, p.kept_total, piece * p.piece,
                min(p.piece, p.reduced_total - piece * p.piece), NULL)
    free(p.parts)
    return 0


cdef int reduce_copy(ReduceOp op, LoadMap map, int code, cnp.ndarray a, const bint* is_reduced,
                     char* out, char* extra) except -1:
    """Reduce a contiguous copy that has the reduced dims last."""
    cdef bint last[MAX_DIMS]
    cdef int i, kept = 0
    for i in range(cnp.PyArray_NDIM(a)):
        kept += not is_reduced[i]
    for i in range(cnp.PyArray_NDIM(a)):
        last[i] = i >= kept
    order = sorted(range(a.ndim), key=lambda i: <bint>is_reduced[<int>i])
    return reduce_array(op, map, code, contiguous(a.transpose(order)), last, out, extra)


cdef int reduce_array(ReduceOp op, LoadMap map, int code, cnp.ndarray a, const bint* is_reduced,
                      char* out, char* extra) except -1:
    """Fold a, which has elements, over the reduced dims; out and extra are contiguous over the kept dims in order.

    code is the type that the fold takes: a's own, or what map makes of it.
    """
    cdef Plan plan
    make_plan(&plan, op, map, code, code_of(a), a, is_reduced, cnp.PyDataType_ELSIZE(dtype_of(code)))
    if plan.reduced.n > 1 and plan.tile * plan.reduced.size[plan.reduced.n - 1] < SHORT:
        return reduce_copy(op, map, code, a, is_reduced, out, extra)
    plan.out = out
    plan.extra = extra
    return run(&plan)
