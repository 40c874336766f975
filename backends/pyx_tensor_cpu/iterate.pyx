"""The driver of elementwise loops: the table of loops, broadcasting, the result's layout.

A loop is found by operation and type; how it goes through its operands is a plan (plan.pyx).
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from libc.string cimport memcmp

from pyx_tensor_cpu.dtypes cimport *
from pyx_tensor_cpu.memory cimport new_array, new_like, new_strided
from pyx_tensor_cpu.ops cimport *
from pyx_tensor_cpu.plan cimport BLOCK, MAX_OPERANDS, RELEASE_GIL, Plan, add_operand, copy_strided, run

from .level import use_kernels
from . import ops

cnp.import_array()

cdef Loop[NOPS * NCODES] table
cdef int[NOPS * NCODES] result_codes
cdef Py_ssize_t[NOPS] costs         # of one element, an addition being 1

cdef void describe(tuple ops, Py_ssize_t cost):
    cdef int op
    for op in ops:
        costs[op] = cost

cdef int _op, _code
for _op in range(NOPS):
    costs[_op] = 1
    for _code in range(NCODES):
        result_codes[_op * NCODES + _code] = _code
for _op in (EQ, NE, LT, LE, GT, GE, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT, ISNAN, ISINF, ISFINITE, SIGNBIT):
    for _code in range(NCODES):
        result_codes[_op * NCODES + _code] = BOOL
for _op in (ABS, ANGLE):
    result_codes[_op * NCODES + C64] = F32
    result_codes[_op * NCODES + C128] = F64
describe((EXP, EXP2, EXPM1, LOG, LOG2, LOG1P, SIN, COS, TAN, SINH, COSH, TANH, ERF, ERFC, SIGMOID, SILU, MISH, GELU, GELU_TANH, ELU, SOFTPLUS,
          GELU_BACKWARD, GELU_TANH_BACKWARD, SILU_BACKWARD), 4)
describe((LOG10, ASIN, ACOS, ATAN, ASINH, ACOSH, ATANH, ERFINV, LGAMMA, DIGAMMA, POW, ATAN2, HYPOT, FMOD, REMAINDER, FLOOR_DIVIDE,
          I0, I0E, I1, I1E, ERFCX, NDTRI, LOG_NDTR), 16)
describe((GAMMAINC, GAMMAINCC, ZETA, GCD), 64)

_capsule = PyCapsule_New(table, "loops", NULL)
for _name in ("arithmetic", "real", "complex", "casts"):
    use_kernels(_name, lambda module: module.install(_capsule))


cdef object shape_of(cnp.ndarray a):
    return (<object>a).shape


cdef int broadcast(Plan* plan, int n, PyObject** inputs) except -1:
    """Set the plan's shape to what the inputs broadcast to."""
    cdef cnp.ndarray a
    cdef Py_ssize_t size
    cdef int k, d, e
    plan.ndim = 0
    for k in range(n):
        plan.ndim = max(plan.ndim, cnp.PyArray_NDIM(<cnp.ndarray>inputs[k]))
    for d in range(plan.ndim):
        plan.shape[d] = 1
    for k in range(n):
        a = <cnp.ndarray>inputs[k]
        e = plan.ndim - cnp.PyArray_NDIM(a)
        for d in range(cnp.PyArray_NDIM(a)):
            size = cnp.PyArray_DIM(a, d)
            if plan.shape[e + d] == 1:
                plan.shape[e + d] = size
            elif size != 1 and size != plan.shape[e + d]:
                raise ValueError("shapes do not broadcast: " + ", ".join([str(shape_of(<cnp.ndarray>inputs[j])) for j in range(n)]))
    return 0


cdef bint has_shape(cnp.ndarray a, int ndim, const Py_ssize_t* shape):
    return cnp.PyArray_NDIM(a) == ndim and memcmp(cnp.PyArray_DIMS(a), shape, ndim * sizeof(Py_ssize_t)) == 0


cdef cnp.ndarray new_result(Plan* plan, int n, PyObject** inputs, int code):
    """An array for the result, laid out like the first input that has its shape."""
    cdef cnp.ndarray a
    cdef int k
    for k in range(n):
        a = <cnp.ndarray>inputs[k]
        if has_shape(a, plan.ndim, plan.shape):
            if cnp.PyArray_IS_C_CONTIGUOUS(a):
                break
            return new_strided(plan.ndim, plan.shape, <const Py_ssize_t*>cnp.PyArray_STRIDES(a), dtype_of(code))
    return new_array(plan.ndim, plan.shape, dtype_of(code))


cdef int check_result(cnp.ndarray out, int ndim, const Py_ssize_t* shape, int code) except -1:
    if code_of(out) != code or not has_shape(out, ndim, shape):
        raise ValueError(f"out has shape {shape_of(out)} and dtype {out.dtype}, expected {tuple([shape[d] for d in range(ndim)])} and {dtype_of(code)}")
    if not cnp.PyArray_ISWRITEABLE(out):
        raise ValueError("out is read-only")
    return 0


# ---- operations ----

def op_name(int op):
    return ops.Op(op).name.lower()


cdef object no_loop(int op, int code):
    return TypeError(f"{op_name(op)} is not implemented for {dtype_of(code)} on cpu")


cdef int check_inputs(int op, int code, int n, PyObject** inputs) except -1:
    """All inputs have one dtype, but for the condition of `where`, and numbers that go with half precision as float."""
    cdef int k, found, expected
    for k in range(n):
        found = code_of(<cnp.ndarray>inputs[k])
        expected = BOOL if op == WHERE and k == 0 else code
        if found != expected and not (found == F32 and is_half_code(code) and cnp.PyArray_NDIM(<cnp.ndarray>inputs[k]) == 0):
            raise TypeError(f"{op_name(op)}: operand {k} has dtype {dtype_of(found)}, expected {dtype_of(expected)}")
    return 0


cdef cnp.ndarray elementwise(int op, int code, int n, PyObject** inputs, cnp.ndarray out):
    """Apply `op` to inputs of type `code`, of any layout."""
    cdef Plan plan
    cdef int k, result_code = result_codes[op * NCODES + code]
    cdef Loop loop = table[op * NCODES + code]
    cdef bint widen = loop == NULL and is_half_code(code)
    check_inputs(op, code, n, inputs)
    if widen:
        loop = table[op * NCODES + F32]
    if loop == NULL:
        raise no_loop(op, code)
    broadcast(&plan, n, inputs)
    if out is None:
        out = new_result(&plan, n, inputs, result_code)
    else:
        check_result(out, plan.ndim, plan.shape, result_code)
    plan.op = op
    plan.loop = loop
    plan.operands = 0
    add_operand(&plan, out, table[CAST * NCODES + code] if widen and is_half_code(result_code) else NULL, F32)
    for k in range(n):
        add_operand(&plan, <cnp.ndarray>inputs[k],
                    table[CAST * NCODES + F32] if widen and code_of(<cnp.ndarray>inputs[k]) == code else NULL, code)
    run(&plan, costs[op] * (2 if widen else 1))
    return out


cdef inline bint same_layout(cnp.ndarray a, cnp.ndarray b):
    """Both C-contiguous and of one shape."""
    return (cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(b) and
            has_shape(b, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a)))


cdef cnp.ndarray unary(int op, cnp.ndarray a, cnp.ndarray out):
    cdef PyObject* inputs[1]
    cdef void* p[MAX_OPERANDS]
    cdef int code = code_of(a)
    cdef Loop loop = table[op * NCODES + code]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    if loop != NULL and out is None and cnp.PyArray_IS_C_CONTIGUOUS(a) and n * costs[op] < RELEASE_GIL:
        out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
        p[0] = cnp.PyArray_DATA(out)
        p[1] = cnp.PyArray_DATA(a)
        loop(op, p, n)
        return out
    inputs[0] = <PyObject*>a
    return elementwise(op, code, 1, inputs, out)


cdef cnp.ndarray binary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray out):
    cdef PyObject* inputs[2]
    cdef void* p[MAX_OPERANDS]
    cdef int code = code_of(a)
    cdef Loop loop = table[op * NCODES + code]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    if (loop != NULL and out is None and same_layout(a, b) and cnp.PyArray_TYPE(a) == cnp.PyArray_TYPE(b)
            and n * costs[op] < RELEASE_GIL):
        out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
        p[0] = cnp.PyArray_DATA(out)
        p[1] = cnp.PyArray_DATA(a)
        p[2] = cnp.PyArray_DATA(b)
        loop(op, p, n)
        return out
    if loop != NULL and out is None and cnp.PyArray_TYPE(a) == cnp.PyArray_TYPE(b):
        if repeats_one_number(b, a):
            return with_number(op, code, a, b, False)
        if repeats_one_number(a, b):
            return with_number(op, code, b, a, True)
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    return elementwise(op, code, 2, inputs, out)


cdef inline bint repeats_one_number(cnp.ndarray b, cnp.ndarray a) noexcept:
    """Whether b is one number next to a, a contiguous array of at most a block: 0-dim, or expanded to a's shape."""
    cdef int d, ndim = cnp.PyArray_NDIM(b)
    if not cnp.PyArray_IS_C_CONTIGUOUS(a) or not 0 < cnp.PyArray_SIZE(a) <= BLOCK or (ndim and not has_shape(b, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a))):
        return False
    for d in range(ndim):
        if cnp.PyArray_STRIDE(b, d) and cnp.PyArray_DIM(b, d) > 1:
            return False
    return True


cdef cnp.ndarray with_number(int op, int code, cnp.ndarray a, cnp.ndarray number, bint number_first):
    """A contiguous array of at most a block, and one number of its dtype."""
    cdef double repeated[2 * BLOCK]
    cdef void* p[MAX_OPERANDS]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a), itemsize = cnp.PyArray_ITEMSIZE(a)
    cdef cnp.ndarray out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
    copy_strided(<char*>repeated, itemsize, <char*>cnp.PyArray_DATA(number), 0, n, itemsize)
    p[0] = cnp.PyArray_DATA(out)
    p[1 + number_first] = cnp.PyArray_DATA(a)
    p[2 - number_first] = <void*>repeated
    table[op * NCODES + code](op, p, n)
    return out


cdef cnp.ndarray ternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray out):
    cdef PyObject* inputs[3]
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    inputs[2] = <PyObject*>c
    return elementwise(op, code_of(b if op == WHERE else a), 3, inputs, out)


cdef cnp.ndarray quaternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray d, cnp.ndarray out):
    cdef PyObject* inputs[4]
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    inputs[2] = <PyObject*>c
    inputs[3] = <PyObject*>d
    return elementwise(op, code_of(a), 4, inputs, out)


cdef int convert_into(cnp.ndarray dst, cnp.ndarray src) except -1:
    """Write `src`, broadcast and converted, into `dst`, which it does not overlap; between complex and real only to bool."""
    cdef Plan plan
    cdef int to = code_of(dst), source = code_of(src), d
    cdef Loop load_loop = NULL
    cdef Loop store_loop = NULL
    plan.ndim = cnp.PyArray_NDIM(dst)
    for d in range(plan.ndim):
        plan.shape[d] = cnp.PyArray_DIM(dst, d)
    plan.operands = 0
    if to == source:
        plan.op = COPY
        plan.loop = table[COPY * NCODES + to]
    else:
        if is_half_code(source) and to != F32:
            load_loop = table[CAST * NCODES + F32]
        if is_half_code(to) and source != F32:
            store_loop = table[CAST * NCODES + to]
        plan.op = F32 if load_loop != NULL else source
        plan.loop = table[CAST * NCODES + (F32 if store_loop != NULL else to)]
    if plan.loop == NULL:
        raise no_loop(CAST, source)
    add_operand(&plan, dst, store_loop, F32)
    add_operand(&plan, src, load_loop, source)
    run(&plan, 1)
    return 0


cdef cnp.ndarray contiguous_copy(cnp.ndarray a):
    cdef cnp.ndarray result = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t *>cnp.PyArray_DIMS(a), a.dtype)
    convert_into(result, a)
    return result


cdef cnp.ndarray contiguous(cnp.ndarray a):
    """`a` itself where it is C-contiguous."""
    return a if cnp.PyArray_IS_C_CONTIGUOUS(a) else contiguous_copy(a)


cdef cnp.ndarray as_type(cnp.ndarray a, cnp.dtype dtype):
    """`a` converted, in its layout, between real dtypes; itself where it has the dtype, None for None."""
    cdef cnp.ndarray result
    if a is None or a.dtype is dtype:
        return a
    result = new_like(a, dtype)
    convert_into(result, a)
    return result


cdef cnp.ndarray widened(cnp.ndarray a):
    """An array of a half type as float32, in which those are computed."""
    return as_type(a, dtype_of(F32))
