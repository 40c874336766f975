"""Autocast: inside of it, operations that gain by a smaller dtype get it, and those that lose by it get float32.

What stands in no list computes in the dtype of its operands. The lists are PyTorch's for the CPU (its documentation, "Autocast
Op Reference"). The state belongs to a thread, and a bit of its mode word says that there is something to look at.
"""
import functools
import threading

from .dtype import by_name
from .mode import MASKS, has_bits, swap_bits
from .record import namespace as B
from .tensor import TensorBase

_BIT = MASKS["autocast"]
LOW, HIGH, KEEP, WIDEST = range(4)      # to the smaller dtype, to float32, none (inside of it neither), to the widest of the operands

_NAMES = {
    LOW: """matmul mm bmm addmm addbmm baddbmm inner linear conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
        convolution scaled_dot_product_attention rnn_tanh_cell rnn_relu_cell""",
    HIGH: """mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy binary_cross_entropy binary_cross_entropy_with_logits
        ctc_loss prod trace cdist quantile nanquantile view_as_complex polar stft cholesky cholesky_inverse cholesky_solve lu_solve ormqr pinverse
        geqrf qr svd triangular_solve linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_cholesky_ex linalg_svd
        linalg_svdvals linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lstsq linalg_qr
        linalg_householder_product linalg_tensorinv linalg_tensorsolve avg_pool3d max_pool3d max_pool3d_with_indices
        adaptive_avg_pool3d adaptive_max_pool3d grid_sampler grid_sampler_2d grid_sampler_3d""",
    KEEP: "mv dot vdot addmv addr outer kron tensordot linalg_matrix_exp linear_backward recurrent_layer gru_cell",
    WIDEST: "stack cat index_copy",
}
POLICIES = {name: policy for policy, names in _NAMES.items() for name in names.split()}


class _State(threading.local):
    def __init__(self):
        self.enabled = {}            # device type -> True inside of autocast
        self.dtypes = {}             # device type -> dtype, where it isn't the default
        self.nesting = 0
        self.caching = True
        self.cache = {}              # id of a leaf -> (leaf, dtype, its cast)


_state = _State()


def default_dtype(device_type):
    """What autocast takes on a kind of device unless told otherwise."""
    return by_name["float16" if device_type == "cuda" else "bfloat16"]


def get_dtype(device_type):
    """The smaller dtype of a kind of device in this thread."""
    return _state.dtypes.get(device_type) or default_dtype(device_type)


def set_dtype(device_type, dtype):
    _state.dtypes[device_type] = dtype


def is_enabled(device_type):
    """True inside of autocast for a kind of device, in this thread."""
    return _state.enabled.get(device_type, False)


def set_enabled(device_type, enabled):
    _state.enabled[device_type] = bool(enabled)
    swap_bits(_BIT, _BIT if any(_state.enabled.values()) else 0)


def is_cache_enabled():
    return _state.caching


def set_cache_enabled(enabled):
    _state.caching = bool(enabled)


def clear_cache():
    """Forget the casts of parameters."""
    _state.cache.clear()


def change_nesting(change):
    """Count the autocasts around; returns how many there are now."""
    _state.nesting += change
    return _state.nesting


def snapshot():
    """The thread's state, for `restored`."""
    return dict(_state.enabled), dict(_state.dtypes), _state.caching


class restored:
    """A context in which the thread's state is an earlier one."""

    def __init__(self, state):
        self.state = state

    def __enter__(self):
        self.before = snapshot()
        self._set(self.state)

    def __exit__(self, *exc):
        self._set(self.before)

    @staticmethod
    def _set(state):
        enabled, dtypes, _state.caching = state
        _state.enabled, _state.dtypes = dict(enabled), dict(dtypes)
        swap_bits(_BIT, _BIT if any(enabled.values()) else 0)


# --- casting -----------------------------------------------------------------------------------------------------------
def _tensors_of(args):
    for arg in args:
        if isinstance(arg, TensorBase):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from (item for item in arg if isinstance(item, TensorBase))


def _is_castable(tensor, device_type):
    """Floating, on that kind of device, and not float64, which is chosen on purpose."""
    return tensor.dtype.is_floating_point and tensor.dtype.name != "float64" and tensor.device.type == device_type


def _cast(value, dtype, device_type):
    if isinstance(value, TensorBase):
        if value.dtype is dtype or not _is_castable(value, device_type):
            return value
        return _cached(value, dtype) if _state.caching and value.requires_grad and value.is_leaf else value.to(dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(item, TensorBase) for item in value):
        return type(value)(_cast(item, dtype, device_type) for item in value)
    return value


def _cached(leaf, dtype):
    """The cast of a parameter, once for all its uses inside of one autocast."""
    found = _state.cache.get(id(leaf))
    if found is None or found[0] is not leaf or found[1] is not dtype or found[2] != leaf._version or not (
            found[3].requires_grad or has_bits(MASKS["no_grad"])):
        found = _state.cache[id(leaf)] = leaf, dtype, leaf._version, leaf.to(dtype)
    return found[3]


def _target(policy, args, device_type):
    """The dtype that the operands get, or None."""
    if policy == LOW:
        return get_dtype(device_type)
    if policy == HIGH:
        return by_name["float32"]
    if policy == WIDEST:
        dtypes = [t.dtype for t in _tensors_of(args) if t.dtype.is_floating_point]
        return functools.reduce(B.promote_types, dtypes) if dtypes else None
    return None


class _without:
    """A context without autocast on one kind of device."""

    def __init__(self, device_type):
        self.device_type = device_type

    def __enter__(self):
        set_enabled(self.device_type, False)

    def __exit__(self, *exc):
        set_enabled(self.device_type, True)


def call(policy, run, args, kwargs=None):
    """`run(args, kwargs)` with the operands that the policy wants, without autocast inside; NotImplemented where there is none here."""
    first = next(_tensors_of([*args, *(kwargs or {}).values()]), None)
    if first is None or not is_enabled(first.device.type):
        return NotImplemented
    device_type = first.device.type
    dtype = _target(policy, args, device_type)
    with _without(device_type):
        if dtype is not None:
            args = [_cast(arg, dtype, device_type) for arg in args]
            kwargs = {name: _cast(value, dtype, device_type) for name, value in (kwargs or {}).items()}
        return run(args, kwargs or {})


def intercept(operation, args):
    """An operation of the table inside of autocast: its result, or NotImplemented where it stands in no list."""
    policy = POLICIES.get(operation.name)
    if policy is None:
        return NotImplemented
    return call(policy, lambda args, _: operation.proceed(list(args)), args)


def computed_in_float32(function):
    """Have a function of tensors that isn't an operation of the table get float32 inside of autocast."""
    return _with_policy(function, HIGH)


def computed_low(function):
    """Have a function of tensors that isn't an operation of the table get the smaller dtype inside of autocast."""
    return _with_policy(function, LOW)


def computed_as_it_is(function):
    """Switch autocast off inside of a function of tensors that isn't an operation of the table."""
    return _with_policy(function, KEEP)


def _with_policy(function, policy):
    @functools.wraps(function)
    def cast(*args, **kwargs):
        if has_bits(_BIT):
            result = call(policy, lambda args, kwargs: function(*args, **kwargs), args, kwargs)
            if result is not NotImplemented:
                return result
        return function(*args, **kwargs)
    return cast
