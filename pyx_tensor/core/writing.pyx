"""The forms of an operation that write to memory that stands already: in place, and `out=`."""
import warnings

cimport numpy as cnp

from .device cimport Device
from .dtype cimport FLOATING, DType, bool_
from .history cimport check_writable, connect_written
from .mode cimport INFERENCE, INTERCEPT, NO_GRAD, PROFILE, TRACK_DERIVED, change_mode, get_mode
from .op cimport REFUSALS, Op, intercepted, lacks_dtype
from .operands cimport (alike_and_apart, all_plain, broadcasts_to, check_no_inference, check_no_overlap, different_devices, dtype_title, fits_surely, is_plain, is_scalar,
                        lies_across, may_overlap, number_operand, same_memory, scaled, write_array)
from .parameters cimport FLOAT, SAME
from .record cimport DIMS, INT, RAW, RAWS, TENSOR, TENSORS
from .record cimport OpNode, any_needs_grad, mark_derived, save
from .tensor cimport TensorBase, Version
from .viewop cimport ViewOp, is_basic, places_of
from .record import namespace

cnp.import_array()

cdef object B = namespace


cdef class WritableOp(Op):
    """An operation whose result can be written to a tensor that is given."""

    cdef object call2_(self, object a, object b):
        if is_plain(a):
            if is_plain(b):
                if self.write_directly(<TensorBase>a, <TensorBase>b, <TensorBase>a):
                    return a
            elif self.write_over([a, b]):
                return a
        return self.run_inplace([a, b], True)

    cdef bint write_directly(self, TensorBase t, TensorBase u, TensorBase out, object factor=None) except -1:
        """out = op(t, u), or op(t, u, factor), in out's memory, where nothing is recorded and the arrays are alike and apart (out may be t); else False."""
        if t.dtype is not u.dtype or t.device is not u.device or not alike_and_apart(out.array, u.array):
            return False
        if out is not t and (out.dtype is not t.dtype or out.device is not t.device or not alike_and_apart(out.array, t.array)
                             or same_memory(out, t) or same_memory(out, u)):
            return False
        if not self.may_overwrite(out) or not get_mode() & NO_GRAD and (t.needs_grad() or u.needs_grad()):
            return False
        return self.overwrite(out, (t.array, u.array) if factor is None else (t.array, u.array, factor), [t, u])

    cdef bint write_over(self, list args) except -1:
        """The first argument, a row-major tensor, overwritten where nothing is recorded and the others are no tensors; else False."""
        cdef TensorBase t
        cdef list values
        cdef int i
        if not is_plain(args[0]) or self.kinds[0] != TENSOR or self.writer is not None:
            return False
        t = <TensorBase>args[0]
        if not alike_and_apart(t.array, t.array) or not self.may_overwrite(t):
            return False
        values = [t.array]
        for i in range(1, self.n_params):
            value = args[i]
            if self.kinds[i] == TENSOR and value is not None:
                if not (type(value) is float or type(value) is int) or t.dtype.category < FLOATING or not self.takes_number(i):
                    return False
                value = number_operand(value, t)
            elif self.kinds[i] >= INT:
                if not self.is_exact(i, value):
                    return False
            elif self.kinds[i] != TENSOR:
                return False
            values.append(value)
        self.check_values(args)
        return self.overwrite(t, tuple(values), args)

    cdef bint may_overwrite(self, TensorBase t) except -1:
        """Whether the result has the dtype of t, and nobody records or follows a write to it."""
        cdef unsigned int mode = get_mode()
        return not (mode & ~NO_GRAD or not self.writes_same or t.is_view or t.inference or (t.dtype.category < FLOATING and FLOAT <= self.promote < SAME)
                    or (not mode & NO_GRAD and t.needs_grad()))

    cdef bint overwrite(self, TensorBase t, tuple arrays, list args) except -1:
        """Have the entry write to t's memory; False where it doesn't take `out`."""
        entry = self.entry(t.device)
        if entry is None or not self.takes_out[t.device.slot]:
            return False
        try:
            entry(*arrays, out=t.array)
        except REFUSALS as error:
            if lacks_dtype(self, error):
                return False
            raise self.explained(error, args) from None
        count_write(t)
        return True

    def in_place(self, *args, **kwargs):
        """The form that writes its result to its first argument."""
        if self.early is not None and (kwargs or len(args) > self.n_positional):
            args, kwargs = self.early(args, kwargs)
        alpha = kwargs.pop("alpha", None) if self.takes_alpha else None
        bound = self.bind(args, kwargs)
        if alpha is not None:
            bound[1] = scaled(self.name, bound[0], bound[1], alpha)
        return bound[0] if self.write_over(bound) else self.run_inplace(bound, False)

    cdef object run_inplace(self, list args, bint operator):
        """`input.op_(...)`: PyTorch's checks, then the result into the input's memory, its version and its history."""
        if get_mode() & (INTERCEPT | PROFILE) or not all_plain(args):
            result = intercepted(self, args, "_")
            if result is not NotImplemented:
                return result
        return self.dispatch_inplace(args, operator)

    cdef object dispatch_inplace(self, list args, bint operator):
        cdef TensorBase target
        cdef unsigned int mode = get_mode()
        cdef bint record, cuts
        cdef OpNode node = None
        if not isinstance(args[0], TensorBase):
            raise TypeError(f"{self.name}_(): argument 'input' must be Tensor, not {type(args[0]).__name__}")
        if operator:
            for item in args:
                if not (isinstance(item, (TensorBase, cnp.ndarray)) or is_scalar(item)):
                    return NotImplemented
        target = <TensorBase>args[0]
        cuts = not mode & (NO_GRAD | INFERENCE) and self.nograd and target.needs_grad()
        record = not mode & (NO_GRAD | INFERENCE) and not self.nograd
        check_no_inference(target)
        if record:
            record = any_needs_grad(args)
            check_writable(target, record)
        check_no_overlap(target)
        if self.writer is not None:
            bound = list(args)
            self.normalise(bound)
            return self.writer(B, *bound)
        if cuts:    # nothing that was recorded reaches the result: a copy of it cuts the target's history
            result = self.run(list(args))
            self.check_result(target, result)
            return target.copy_(result)
        if record and self.gradient is None:
            # composite: its parts are recorded on a copy (they may keep their input, which is overwritten below)
            result = self.run(apart(args, target))
            self.check_result(target, result)
            return target.copy_(result)
        self.common_device(args)
        if record:
            bound = list(args)
            self.normalise(bound)
            node = self.gradient.prepare(bound, target)
        self.run_into(list(args), target)
        count_write(target)
        if record:
            if self.gradient.saves_output:
                node.output = saved_result(target)
            connect_written(target, node)
        if mode & TRACK_DERIVED:
            mark_derived(target, args, record)
        return target

    cdef bint enter_directly(self, list args, TensorBase target) except -1:
        """Have the entry write to target's memory itself; False where it doesn't take `out` or the result wouldn't fit."""
        cdef Device device = target.device
        cdef DType compute
        entry = self.entry(device)
        if entry is None or not self.takes_out[device.slot] or not self.writes_same or not device._backend.mutable:
            return False
        compute = self.compute_dtype(args)
        if compute is not target.dtype and not (compute is None and args[0] is target):
            return False
        if not self.fits(args, target):
            return False
        try:
            entry(*self.kernel_args(args, compute, device), out=target.array)
        except REFUSALS as error:
            if lacks_dtype(self, error):
                return False
            raise self.explained(error, args) from None
        return True

    cdef object run_into(self, list args, TensorBase target):
        """Compute under no-grad and write to target's memory; directly where the entry takes `out`."""
        cdef unsigned int before
        cdef TensorBase result
        self.common_device(args)
        self.normalise(args)
        if self.enter_directly(args, target):
            return target
        before = change_mode(NO_GRAD, NO_GRAD)
        try:
            raw = self.run(args)
        finally:
            change_mode(NO_GRAD, before)
        result = <TensorBase>raw
        self.check_result(target, result)
        write_array(target, result)
        return target

    cdef bint fits(self, list args, TensorBase target) except -1:
        """The result has exactly the target's shape and dtype, and no operand lies crosswise over it."""
        cdef tuple shape = target.shape_()
        cdef int i
        cdef bint full = False
        if self.over_input:
            return self.lies_over(args, target)
        for i in range(self.n_params):
            if self.kinds[i] >= TENSORS and self.kinds[i] <= RAWS:
                return False
            if (self.kinds[i] == TENSOR or self.kinds[i] == RAW) and isinstance(args[i], TensorBase):
                other = (<TensorBase>args[i]).shape_()
                full = full or other == shape
                if not broadcasts_to(other, shape):
                    return False
                if not same_memory(<TensorBase>args[i], target) and may_overlap(<TensorBase>args[i], target):
                    return False
        return full and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>target.array) if type(target.array) is cnp.ndarray else full

    cdef bint lies_over(self, list args, TensorBase target) except -1:
        """The input is the target itself, and no other operand lies on it."""
        if args[0] is not target:
            return False
        for arg in args[1:]:
            for item in arg if isinstance(arg, (list, tuple)) else (arg,):
                if isinstance(item, TensorBase) and may_overlap(<TensorBase>item, target):
                    return False
        return type(target.array) is not cnp.ndarray or cnp.PyArray_ISWRITEABLE(<cnp.ndarray>target.array)

    cdef int check_result(self, TensorBase target, TensorBase result) except -1:
        if result.dtype.category > target.dtype.category:
            raise RuntimeError(f"result type {dtype_title(result.dtype)} can't be cast to the desired output type {dtype_title(target.dtype)}")
        if result.shape_() != target.shape_():
            raise RuntimeError(f"output with shape {list(target.shape_())} doesn't match the broadcast shape {list(result.shape_())}")
        return 0

    cdef object run_out(self, list args, object out):
        """`op(..., out=tensor)`: no gradient; `out` is resized where its shape differs."""
        if (self.n_params == 2 and is_plain(args[0]) and is_plain(args[1]) and is_plain(out)
                and self.write_directly(<TensorBase>args[0], <TensorBase>args[1], <TensorBase>out)):
            return out
        if get_mode() & (INTERCEPT | PROFILE) or not all_plain(args) or not all_plain([out]):
            result = intercepted(self, args, "", out)
            if result is not NotImplemented:
                return result
        return self.dispatch_out(args, out)

    cdef object dispatch_out(self, list args, object out):
        cdef unsigned int before
        check_out(self, out)
        check_apart(self, args, out)
        if not get_mode() & NO_GRAD and (any_needs_grad(args) or any_needs_grad([out] if isinstance(out, TensorBase) else list(out))):
            raise RuntimeError(f"{self.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")
        before = change_mode(NO_GRAD, NO_GRAD)
        try:
            if get_mode() & TRACK_DERIVED:
                mark_derived(out, args, False)
            if isinstance(out, TensorBase):
                check_no_inference(<TensorBase>out)
                check_no_overlap(<TensorBase>out)
                self.direct_or_copied(args, <TensorBase>out)
                return out
            results = self.run(args)
            if not isinstance(results, tuple) or len(results) != len(out):
                raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not tuple of {len(out)}")
            for t, r in zip(out, results):
                write_out(self, t, r)
            return self.returns(out) if self.returns is not None else tuple(out)
        finally:
            change_mode(NO_GRAD, before)

    cdef int direct_or_copied(self, list args, TensorBase out) except -1:
        self.common_device(args)
        bound = list(args)
        self.normalise(bound)
        if self.enter_directly(bound, out):
            out._bump_version()
            return 0
        result = self.run(args)
        if isinstance(result, tuple):
            raise TypeError(f"{self.name}(): argument 'out' must be tuple of Tensors, not Tensor")
        return write_out(self, out, result)


cdef int check_out(Op op, object out) except -1:
    for item in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(item, TensorBase):
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor or tuple of Tensors, not {type(item).__name__}")
    return 0


cdef int check_apart(Op op, list args, object out) except -1:
    """RuntimeError where a dense `out` lies across a dense operand, as PyTorch; reductions may write to a part of theirs."""
    cdef int i
    cdef bint apart = op.signature.out_apart
    for i in range(op.n_params):
        if op.kinds[i] == DIMS:
            return 0
    for target in out if isinstance(out, (tuple, list)) else (out,):
        for arg in args:
            for item in arg if type(arg) is list or type(arg) is tuple else (arg,):
                if isinstance(item, TensorBase) and (lies_across(<TensorBase>target, <TensorBase>item)
                                                     or apart and same_memory(<TensorBase>target, <TensorBase>item)):
                    raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                                       "memory location. Please clone() the tensor before performing the operation.")
    return 0


cdef int write_out(Op op, TensorBase out, TensorBase result) except -1:
    if op.exact_out and result.dtype is not out.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if result.dtype.category > out.dtype.category:
        raise RuntimeError(f"result type {dtype_title(result.dtype)} can't be cast to the desired output type {dtype_title(out.dtype)}")
    if result.device is not out.device:
        raise RuntimeError(different_devices(result.device, out.device))
    if result.shape_() != out.shape_():
        if out.numel():
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape_())}, which does not "
                          f"match the required output shape {list(result.shape_())}. This behavior is deprecated, and in a future "
                          "PyTorch release outputs will not be resized unless they have zero elements.", stacklevel=3)
        out.resize_(result.shape_())
    write_array(out, result)
    out._bump_version()
    return 0


cdef list apart(list args, TensorBase target):
    """The arguments, with copies of those that stand on target's memory."""
    return [B.clone(a) if isinstance(a, TensorBase) and (a is target or ((<TensorBase>a).storage is not None
            and (<TensorBase>a).storage is target.storage)) else a for a in args]


cdef object saved_result(TensorBase written):
    """The value just written, as output 0 of the node that wrote it."""
    cdef bint requires = written.requires
    cdef int nr = written.nr
    written.requires = True
    written.nr = 0
    try:
        return save(written, True)
    finally:
        written.requires = requires
        written.nr = nr


# --- copies and fills that nobody records or looks at -------------------------------------------------------------
cdef bint may_write_directly(object target) except -1:
    """A plain tensor on a writable ndarray whose write concerns no graph; raises where PyTorch refuses the write."""
    cdef TensorBase t
    cdef unsigned int mode = get_mode()
    if mode & ~NO_GRAD or not is_plain(target):
        return False
    t = <TensorBase>target
    if type(t.array) is not cnp.ndarray or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>t.array) or not t.device._backend.mutable:
        return False
    check_no_inference(t)
    if not mode & NO_GRAD:
        if t.needs_grad():
            return False
        check_writable(t, False)
    check_no_overlap(t)
    return True


cdef int count_write(TensorBase t) except -1:
    cdef Version version = t.version_()
    version.value += 1
    return 0


cdef bint copy_directly(object target, object source) except -1:
    """target[...] = source where both are plain and nothing is recorded; else False, with nothing changed."""
    cdef TensorBase t, u
    if not is_plain(source) or not may_write_directly(target):
        return False
    t, u = <TensorBase>target, <TensorBase>source
    if t.device is not u.device or (not get_mode() & NO_GRAD and u.needs_grad()):
        return False
    try:
        t.device._backend.copy_(t.array, u.array)
    except REFUSALS:
        return False
    count_write(t)
    return True


cdef bint fill_directly(object target, object value) except -1:
    """target[...] = value, a Python number that surely fits, where nothing is recorded; else False, with nothing changed."""
    cdef TensorBase t
    if not may_write_directly(target) or not fits_surely(value, (<TensorBase>target).dtype):
        return False
    t = <TensorBase>target
    if t.dtype.category >= FLOATING:
        value = float(value)
    t.device._backend.copy_(t.array, number_operand(value, t))
    count_write(t)
    return True


def copy_method(general):
    """`Tensor.copy_`, with `general` for what the short way can't."""
    def copy_(self, src, non_blocking=False):
        return self if copy_directly(self, src) else general(self, src, non_blocking)
    copy_.__qualname__ = "copy_"
    return copy_


def fill_method(general):
    def fill_(self, value):
        return self if fill_directly(self, value) else general(self, value)
    fill_.__qualname__ = "fill_"
    return fill_


cdef bint put_directly(TensorBase x, list places, object value, Op put) except -1:
    """x[places] = value, a plain tensor of x's dtype or a Python number, where nothing is recorded; else False, with nothing changed."""
    cdef list arrays = []
    if not may_write_directly(x):
        return False
    for item in places:
        if item is not None and (<TensorBase>item).device is not x.device:
            return False
        arrays.append(None if item is None else (<TensorBase>item).array)
    if is_plain(value):
        if (<TensorBase>value).dtype is not x.dtype or (<TensorBase>value).device is not x.device or (not get_mode() & NO_GRAD and (<TensorBase>value).needs_grad()):
            return False
        value = (<TensorBase>value).array
    elif fits_surely(value, x.dtype):
        value = number_operand(float(value) if x.dtype.category >= FLOATING else value, x)
    else:
        return False
    entry = put.entry(x.device)
    if entry is None:
        return False
    try:
        entry(x.array, arrays, value, False)
    except REFUSALS:
        return False
    count_write(x)
    return True


cdef bint fill_mask_directly(TensorBase x, object mask, object value, Op choose) except -1:
    """x[mask] = value, a Python number, for a mask of x's shape, where nothing is recorded; else False, with nothing changed."""
    cdef TensorBase flags
    if not is_plain(mask):
        return False
    flags = <TensorBase>mask
    if (flags.dtype is not bool_ or flags.device is not x.device or not fits_surely(value, x.dtype) or flags.shape_() != x.shape_()
            or not may_write_directly(x)):
        return False
    entry = choose.entry(x.device)
    if entry is None or not choose.takes_out[x.device.slot]:
        return False
    entry(flags.array, number_operand(float(value) if x.dtype.category >= FLOATING else value, x), x.array, out=x.array)
    count_write(x)
    return True


def setitem_function(ViewOp select not None, ViewOp index not None, Op put not None, Op choose not None, general):
    """`x[key] = value`: numbers and tensors written at once to what ints, slices, None, Ellipsis and tensors name, the rest by the general function.

    `put` writes at positions, `choose` is `where`.
    """
    def setitem(x, key, value):
        cdef TensorBase part
        if is_plain(x) and not get_mode() & ~NO_GRAD and not (<TensorBase>x).needs_grad():
            if type(key) is int and (<TensorBase>x).ndim_():
                part = select.of(<TensorBase>x, (0, key))
            elif type(key) is slice or type(key) is tuple and is_basic(<tuple>key):
                part = index.of(<TensorBase>x, (key,))
            else:
                places = places_of(<TensorBase>x, key)
                if not (fill_mask_directly(<TensorBase>x, key, value, choose) if places is None else put_directly(<TensorBase>x, places, value, put)):
                    general(x, key, value)
                return
            if type(value) is float or type(value) is int or type(value) is bool:
                if fill_directly(part, value):
                    return
            elif is_plain(value) and (<TensorBase>value).ndim_() <= part.ndim_() and copy_directly(part, value):
                return
        general(x, key, value)
    return setitem
