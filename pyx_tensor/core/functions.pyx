"""The functions that users call: one compiled parser per shape of signature, each bound to an operation."""
from functools import update_wrapper

from .dtype cimport FLOATING, DType
from .mode cimport INTERCEPT, NO_GRAD, PROFILE, get_mode
from .op cimport Op
from .operands cimport all_dims, is_plain, may_ask, scaled
from .record cimport DIMS
from .tensor cimport TensorBase
from .writing cimport WritableOp
from . import overrides
from .record import namespace

cdef object B = namespace


def shown(function):
    """A function behind which no operation stands, as users call it: modes and profilers see its calls too."""
    def call(*args, **kwargs):
        if get_mode() & (INTERCEPT | PROFILE):
            return overrides.intercept_function(call, function, args, kwargs)
        return function(*args, **kwargs)
    return update_wrapper(call, function)


cdef bint are_plain(tuple args, dict kwargs):
    """No mode and no argument might want to take over a call."""
    if get_mode() & INTERCEPT:
        return False
    for x in args:
        if may_ask(x):
            return False
    for x in kwargs.values():
        if may_ask(x):
            return False
    return True


def asking(function, tuple tensors=(), explain=None):
    """A function over tensors behind which no operation stands, as users call it: modes and the types of its operands are asked first.

    Args:
        tensors: the names of the first parameters, which handlers find by their places.
        explain: a function(args, kwargs) that may raise an error which tells more than the AttributeError of what isn't a tensor.
    """
    def explaining(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except AttributeError:
            explain(args, kwargs)
            raise
    body = function if explain is None else explaining

    def call(*args, **kwargs):
        return body(*args, **kwargs) if are_plain(args, kwargs) else overrides.ask_first(call, body, args, kwargs)
    update_wrapper(call, function)
    call.asks, call.tensors = True, tensors
    return call


def unary_function(Op op not None):
    def call(input, *, out=None):
        return op.call1(input) if out is None else op.run_out([input], out)
    return call


def binary_function(Op op not None):
    if op.takes_alpha:
        return scaling_function(op)

    def call(input, other, *, out=None):
        if out is not None:
            return op.run_out([input, other], out)
        result = op.call2(input, other)
        return op.run([input, other]) if result is NotImplemented else result      # raises, with the argument's name
    return call


def power_function(Op op not None):
    """A binary function with a power's name for the second operand."""
    function = binary_function(op)

    def call(input, exponent, *, out=None):
        return function(input, exponent) if out is None else function(input, exponent, out=out)
    return call


cdef object scaled_sum(Op op, object input, object other, object alpha, bint in_place):
    """`add` or `sub` with `alpha` in one pass, where two tensors of one floating dtype are plain and nothing is recorded; else None."""
    cdef unsigned int mode = get_mode()
    cdef TensorBase t, u
    cdef WritableOp fused
    if mode & ~NO_GRAD or type(alpha) not in (float, int) or not (is_plain(input) and is_plain(other)):
        return None
    t, u = <TensorBase>input, <TensorBase>other
    if t.dtype is not u.dtype or t.dtype.category != FLOATING or (not mode & NO_GRAD and (t.needs_grad() or u.needs_grad())):
        return None
    fused = B._add_scaled.op
    factor = -alpha if op.name == "sub" else alpha
    if in_place:
        return t if fused.write_directly(t, u, t, factor) else fused.run_inplace([t, u, factor], False)
    return fused.run([t, u, factor])


def scaling_function(Op op):
    """A binary function with `alpha`, which scales the second operand.

    Early PyTorch called that factor `value`, and put it before the operand.
    """
    def call(input, other=None, scaled_operand=None, *, alpha=None, out=None, value=None):
        if scaled_operand is not None:
            alpha, other = other, scaled_operand
        elif value is not None:
            alpha = value
        if other is None:
            raise TypeError(f'{op.name}() missing 1 required positional argument: "other"')
        if alpha is not None:
            result = scaled_sum(op, input, other, alpha, False) if out is None else None
            if result is not None:
                return result
            other = scaled(op.name, input, other, alpha)
        if out is not None:
            return op.run_out([input, other], out)
        result = op.call2(input, other)
        return op.run([input, other]) if result is NotImplemented else result
    return call


def reduction_function(Op op not None, Op quick=None, DType apart=None, bint of_elements=False):
    """For (input, dim=None, keepdim=False): all parameters of the definition in this order, dtype last if there is one.

    `quick` stands for a composite `op` where that gives the same: for tensors that aren't of the dtype `apart`. `of_elements`: without
    dims, what has no elements is refused.
    """
    cdef bint typed = len(op.signature.params) > 3, takes_dims = (op if quick is None else quick).kinds[1] == DIMS
    def call(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
        cdef list args
        if axis is not None:
            dim = axis                    # NumPy's names
        if keepdims is not None:
            keepdim = keepdims
        if dtype is not None and not typed:
            raise TypeError(f"{op.name}() got an unexpected keyword argument 'dtype'")
        try:
            if (out is None and dtype is None and takes_dims and (keepdim is True or keepdim is False) and is_plain(input) and not get_mode() & ~NO_GRAD
                    and (<TensorBase>input).dtype is not apart):
                result = (op if quick is None else quick).reduce(<TensorBase>input, dim, keepdim)
                if result is not None:
                    return result
            args = [input, dim, keepdim, dtype] if typed else [input, dim, keepdim]
            return op.run(args) if out is None else op.run_out(args, out)
        except IndexError:
            if of_elements and (dim is None or (type(dim) is tuple or type(dim) is list) and not dim):
                raise RuntimeError(f"{op.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                                   "'dim' argument.") from None
            raise
    return call


def equal_function(Op op not None, Op eq not None, Op all_ not None):
    """`equal(input, other)`: of plain tensors alike by the entries of `eq` and `all`, whose results needn't be tensors."""
    def call(input, other):
        cdef TensorBase t, u
        if is_plain(input) and is_plain(other) and not get_mode() & ~NO_GRAD:
            t, u = <TensorBase>input, <TensorBase>other
            if t.dtype is u.dtype and t.device is u.device and t.shape_() == u.shape_():
                compare, reduce = eq.entry(t.device), all_.entry(t.device)
                if compare is not None and reduce is not None:
                    return bool(reduce(compare(t.array, u.array), all_dims(None, t.ndim_()), False))
        return op.run([input, other])
    return call


def extremum_function(Op op not None, Op of_all not None):
    """`max` and `min`: of all elements by `of_all`, all other forms by `op`."""
    def call(input, *args, **kwargs):
        if not args and not kwargs and is_plain(input) and not get_mode() & ~NO_GRAD and (<TensorBase>input).numel():
            result = of_all.reduce(<TensorBase>input, None, False)
            if result is not None:
                return result
        return op.invoke((input, *args), kwargs)
    return call


def affine_function(Op op not None):
    def call(input, weight, bias=None):
        return op.run([input, weight, bias])
    return call


def general_function(Op op not None):
    def call(*args, **kwargs):
        return op.invoke(args, kwargs)
    return call


def in_place_function(Op op not None):
    if op.signature.params == ("input", "other"):
        return binary_in_place_function(op)
    if op.signature.params == ("input", "exponent"):
        return power_in_place_function(op)
    def call(*args, **kwargs):
        return op.in_place(*args, **kwargs)
    return call


def binary_in_place_function(Op op):
    def call(input, other=None, scaled_operand=None, *, alpha=None, value=None):
        if scaled_operand is not None:
            alpha, other = other, scaled_operand
        elif value is not None:
            alpha = value
        if other is None:
            raise TypeError(f'{op.name}_() missing 1 required positional argument: "other"')
        if alpha is not None:
            if not op.takes_alpha:
                raise TypeError(f"{op.name}_() got an unexpected keyword argument 'alpha'")
            result = scaled_sum(op, input, other, alpha, True)
            if result is not None:
                return result
            other = scaled(op.name, input, other, alpha)
        result = op.call2_(input, other)
        return op.run_inplace([input, other], False) if result is NotImplemented else result
    return call


def power_in_place_function(Op op):
    function = binary_in_place_function(op)

    def call(input, exponent):
        return function(input, exponent)
    return call
