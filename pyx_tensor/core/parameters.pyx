"""How an operation reads its arguments: bound to the parameters, one device, dims counted from the front, one compute dtype, arrays.

The call path (op.pyx) goes through these steps in this order; its short ways skip those that plain tensors don't need.
"""
cimport numpy as cnp

from .device cimport Device, default_device
from .dtype cimport FLOATING, DType, Promotion, default_float, int64
from .geometry cimport wrap_dim
from .operands cimport (all_dims, as_array, cast_array, different_devices, dtype_title, first_ndim, ints, is_plain, is_scalar, number_operand, one_bool,
                        one_int, one_number)
from .record cimport BOOLEAN, DIM, DIMS, INT, INTS, NUMBER, RAW, RAWS, TENSOR, TENSORS, TYPE
from .tensor cimport TensorBase, new_tensor, wrap_array
from .dtype import read_dtype


cdef class Parameters(Slot):
    """What an operation's parameters take, and what becomes of the arguments."""

    cdef int set_parameters(self, object signature, Promote promote) except -1:
        """Called once, by the operation's `__init__`."""
        cdef int i
        self.name = signature.name
        self.signature = signature
        self.promote = promote
        self.numbers = ANY_NUMBER
        self.has_dims = DIM in signature.kinds or DIMS in signature.kinds
        self.n_params = len(signature.params)
        self.n_positional = signature.n_positional
        self.keywords = tuple(signature.params[signature.n_positional:])
        self.sizes_at = signature.sizes_at
        self.defaults = signature.defaults
        self.missing = signature.REQUIRED
        self.where = {name: at for at, name in enumerate(signature.params)}
        self.required = max([at + 1 for at, default in enumerate(signature.defaults) if default is signature.REQUIRED], default=0)
        for i in range(self.n_params):
            self.kinds[i] = signature.kinds[i]
        return 0

    cdef list bind(self, tuple args, dict kwargs):
        """The arguments in the order of the parameters. What isn't plain (aliases, sizes, errors) is left to the signature."""
        cdef Py_ssize_t n = len(args), i
        cdef list bound
        if self.sizes_at >= 0 and n > self.sizes_at and not isinstance(args[self.sizes_at], (tuple, list)):
            args = (*args[:self.sizes_at], args[self.sizes_at:])
            n = len(args)
        if n > self.n_positional:
            return self.signature.bind(args, kwargs)
        bound = list(args)
        for i in range(n, self.n_params):
            bound.append(self.defaults[i])
        for key, value in kwargs.items():
            at = self.where.get(key)
            if at is None or <Py_ssize_t>at < n:
                return self.signature.bind(args, kwargs)
            bound[<Py_ssize_t>at] = value
        for i in range(n, self.required):
            if bound[i] is self.missing:
                return self.signature.bind(args, kwargs)      # raises
        return bound

    cdef Device common_device(self, list args):
        """The device of all tensor operands; 0-dim CPU tensors go with any. Arrays and lists of tensors are looked into."""
        cdef Device device = None
        cdef TensorBase t
        cdef int i, kind
        cdef bint moved = False
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == TENSOR or kind == RAW:
                value = args[i]
                if isinstance(value, TensorBase):
                    device = self.join(device, <TensorBase>value, &moved)
                elif isinstance(value, cnp.ndarray):
                    args[i] = wrap_array(value, default_device())
                elif value is None and i > 0:
                    continue              # an optional operand
                elif not (kind == TENSOR and is_scalar(value) and self.takes_number(i)):
                    raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be Tensor, not {type(value).__name__}")
            elif kind == TENSORS or kind == RAWS:
                value = args[i]
                if isinstance(value, TensorBase) or not isinstance(value, (list, tuple)):
                    raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be tuple of Tensors, not "
                                    f"{type(value).__name__}")
                for item in value:
                    if is_plain(item) or isinstance(item, TensorBase):
                        device = self.join(device, <TensorBase>item, &moved)
                    elif item is not None or kind == TENSORS:
                        raise TypeError(f"expected Tensor as element of argument '{self.signature.params[i]}' of {self.name}(), but got "
                                        f"{type(item).__name__}")
        if device is None:
            self.check_some_tensor(args)
            return default_device()
        if moved:
            for i in range(self.n_params):
                if isinstance(args[i], TensorBase) and (<TensorBase>args[i]).device is not device:
                    if (<TensorBase>args[i]).ndim_():
                        raise RuntimeError(different_devices(device, (<TensorBase>args[i]).device))
                    args[i] = args[i].to(device)
        return device

    cdef bint takes_number(self, int i) noexcept:
        return self.promote != NONE and self.promote != SAME and (self.numbers >= ANY_NUMBER or (self.numbers == AFTER_FIRST and i > 0))

    cdef int check_some_tensor(self, list args) except -1:
        """TypeError where all tensor operands are Python numbers."""
        cdef int i
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR and args[i] is not None:
                if isinstance(args[i], TensorBase):
                    return 0
                if self.signature.defaults[i] is self.signature.REQUIRED:
                    raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be Tensor, not {type(args[i]).__name__}")
        return 0

    cdef Device join(self, Device device, TensorBase t, bint* moved):
        if device is None or device is t.device:
            return t.device
        moved[0] = True
        if t.device.type == "cpu" and t.ndim_() == 0:
            return device
        if device.type == "cpu" and t.ndim_() > 0:
            # what came before must have been 0-dim; the others are checked as they come
            return t.device
        raise RuntimeError(different_devices(device, t.device))

    cdef int check_values(self, list args) except -1:
        """RuntimeError for values that a kernel would take, but the operation doesn't."""
        message = self.refuse(*args) if self.refuse is not None else None
        if message is not None:
            raise RuntimeError(message)
        return 0

    cdef int normalise(self, list args) except -1:
        """Values refused that the operation doesn't take; dims counted from the front, dtypes read."""
        cdef int i, kind, ndim = 0
        cdef bint known = False
        self.check_values(args)
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == DIM or kind == DIMS:
                if not known:
                    ndim = first_ndim(args)
                    known = True
                args[i] = self.one_dim(args[i], ndim) if kind == DIM else all_dims(args[i], ndim)
            elif kind >= INT:
                if not self.is_exact(i, args[i]) and (args[i] is not None or self.defaults[i] is not None):
                    args[i] = self.one_value(i, args[i])
            elif kind == TYPE and args[i] is not None and not isinstance(args[i], DType):
                args[i] = read_dtype(self.name, args[i], self.signature.params[i])
        return 0

    cdef bint is_exact(self, int at, object value) noexcept:
        """The value is of the very type that its parameter's kind names."""
        if self.kinds[at] == BOOLEAN:
            return value is True or value is False
        return type(value) is int or (self.kinds[at] == NUMBER and type(value) is float)

    cdef object one_value(self, int at, object value):
        """The value as its parameter's kind has it; TypeError where it can't be."""
        cdef str name = self.signature.params[at]
        if self.kinds[at] == BOOLEAN:
            return one_bool(self.name, name, value)
        if self.kinds[at] == INTS:
            return ints(self.name, name, value)
        return one_int(self.name, name, value) if self.kinds[at] == INT else one_number(self.name, name, value)

    cdef object one_dim(self, object dim, int ndim):
        if dim is None:
            return None
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"{self.name}(): argument 'dim' must be int, not {type(dim).__name__}")
        return wrap_dim(dim, ndim)

    cdef DType adjust(self, DType dtype):
        """The compute dtype for promoted operands."""
        if self.promote >= FLOAT and dtype.category < FLOATING:
            if self.promote == FLOAT:
                return default_float()
            if self.promote == SUM:
                return int64
            if "keepdim" not in self.where:
                raise NotImplementedError(f"\"{self.name}\" not implemented for '{dtype_title(dtype)}'")
            raise RuntimeError(f"{self.name}(): could not infer output dtype. Input dtype must be either a floating point or complex "
                               f"dtype. Got: {dtype_title(dtype)}")
        return dtype

    cdef DType check_same(self, list args):
        """RuntimeError where the tensors' dtypes differ."""
        cdef DType first = None
        cdef int i
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR and isinstance(args[i], TensorBase):
                if first is None:
                    first = (<TensorBase>args[i]).dtype
                elif (<TensorBase>args[i]).dtype is not first:
                    raise RuntimeError(f"{self.name}(): expected operands to have the same dtype, but got: {first} != {args[i].dtype}")
        return None

    cdef DType compute_dtype(self, list args):
        """The dtype that all tensors of kind T are cast to (None: each keeps its own)."""
        cdef Promotion promotion
        cdef int i, kind
        if self.promote == NONE:
            return None
        if self.promote == SAME:
            return self.check_same(args)
        promotion = Promotion.__new__(Promotion)
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == TENSOR:
                if isinstance(args[i], TensorBase):
                    promotion.add_tensor((<TensorBase>args[i]).dtype, (<TensorBase>args[i]).ndim_())
                elif args[i] is not None:
                    promotion.add_scalar(args[i])
            elif kind == TENSORS:
                for item in args[i]:
                    promotion.add_tensor((<TensorBase>item).dtype, (<TensorBase>item).ndim_())
            elif kind == TYPE and args[i] is not None:
                return <DType>args[i] if self.promote == SUM else self.adjust(<DType>args[i])
        return self.adjust(promotion.result())

    cdef bint place_numbers(self, list args, list arrays, TensorBase like) except -1:
        """Python's numbers among the operands as arrays of the dtype of `like`; False where that might have to be another one."""
        cdef int i, at = 0
        if like.dtype.category < FLOATING:
            return False
        self.check_values(args)
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR and (type(args[i]) is float or type(args[i]) is int):
                arrays[at] = number_operand(args[i], like)
            at += self.kinds[i] != TYPE
        return True

    cdef list kernel_args(self, list args, DType compute, Device device):
        """What the entry gets: arrays for tensors, 0-dim arrays for scalars, the rest as it is."""
        cdef list out = []
        cdef TensorBase t
        cdef int i, kind
        for i in range(self.n_params):
            kind = self.kinds[i]
            value = args[i]
            if kind == TENSOR or kind == RAW:
                if isinstance(value, TensorBase):
                    t = <TensorBase>value
                    out.append(t.array if kind == RAW or compute is None or t.dtype is compute else cast_array(t, compute))
                else:
                    out.append(None if value is None else as_array(value, compute, device))
            elif kind == TENSORS:
                out.append([(<TensorBase>v).array if compute is None or (<TensorBase>v).dtype is compute else cast_array(v, compute)
                            for v in value])
            elif kind == RAWS:
                out.append([None if v is None else (<TensorBase>v).array for v in value])
            elif kind != TYPE:
                out.append(value)
        return out

    cdef list with_tensors(self, list args, Device device):
        """The arguments with numbers that take part in promotion as 0-dim tensors, as a body expects its operands."""
        cdef DType compute = None
        cdef list operands = args
        cdef int i
        if self.promote == NONE or self.promote == SAME or self.numbers == KEPT_NUMBER:
            return args
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR and args[i] is not None and not isinstance(args[i], TensorBase):
                if compute is None:
                    compute = self.compute_dtype(args)
                    operands = list(args)
                operands[i] = new_tensor(as_array(args[i], compute, device), compute, device)
        return operands
