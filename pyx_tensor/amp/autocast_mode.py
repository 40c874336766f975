"""The context `autocast`, its decorators for Functions, and the questions and switches below it."""
import functools
import warnings

import numpy as np

from ..core import autocast as _state
from ..core.dtype import DType, by_name
from ..core.frontend import Tensor
from ..core.registry import BUILT_IN, get_backend, registered_backends

_DTYPES = {"cpu": ("bfloat16", "float16"), "cuda": ("bfloat16", "float16")}


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type not in BUILT_IN and device_type not in registered_backends():
        get_backend(device_type)           # raises where nobody supplies it


def _exists(device_type):
    try:
        return get_backend(device_type).device_count() > 0
    except RuntimeError:
        return False


def is_autocast_available(device_type):
    """True for the kinds of devices that `autocast` knows, whether there is one or not."""
    _check_device_type(device_type)
    return True


class autocast:
    """Within it (or in a function that it decorates), operations choose the dtype they compute in.

    Products, convolutions, linear layers and attention take `dtype`; losses, decompositions and what else suffers from few bits
    take float32; everything else computes in its operands' dtype. float64 and integers are left alone, and so are writes to
    tensors that stand already. Parameters are cast once in a block. Leave backward passes outside: they use the dtypes of
    their forward anyway.

    Args:
        device_type: of the tensors concerned, such as 'cpu'.
        dtype: bfloat16 on the cpu, float16 on cuda by default.
        enabled: False switches it off inside another one.
        cache_enabled: whether casts of parameters are kept for the block.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_device_type(device_type)
        self.device = device_type
        self.fast_dtype = _state.get_dtype(device_type) if dtype is None else dtype
        if not isinstance(self.fast_dtype, DType):
            raise TypeError(f"autocast: argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
        self._cache_enabled = _state.is_cache_enabled() if cache_enabled is None else cache_enabled
        allowed = _DTYPES.get(device_type, _DTYPES["cpu"])
        if enabled and not _exists(device_type):
            warnings.warn(f"{device_type.upper()} is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype.name not in allowed:
            warnings.warn(f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                          f"{device_type.upper()} Autocast only supports dtypes of {', '.join(f'torch.{name}' for name in allowed)} "
                          "currently.", stacklevel=2)
            enabled = False
        self._enabled = bool(enabled)
        self._before = []

    def __enter__(self):
        self._before.append((_state.is_enabled(self.device), _state.get_dtype(self.device), _state.is_cache_enabled()))
        _state.set_enabled(self.device, self._enabled)
        _state.set_dtype(self.device, self.fast_dtype)
        _state.set_cache_enabled(self._cache_enabled)
        _state.change_nesting(1)
        return self

    def __exit__(self, *exc):
        if _state.change_nesting(-1) == 0:
            _state.clear_cache()
        enabled, dtype, caching = self._before.pop()
        _state.set_enabled(self.device, enabled)
        _state.set_dtype(self.device, dtype)
        _state.set_cache_enabled(caching)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return decorated


# --- Functions inside of autocast --------------------------------------------------------------------------------------
def _cast(value, device_type, dtype):
    if isinstance(value, Tensor):
        castable = value.is_floating_point() and value.device.type == device_type and value.dtype is not by_name["float64"]
        return value.to(dtype) if castable else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, dict):
        return {_cast(key, device_type, dtype): _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates the `forward` of an `autograd.Function` that is used inside of `autocast`.

    Args:
        cast_inputs: a dtype: inside of autocast, floating inputs are cast to it and forward runs without autocast. None: forward
            runs with the autocast around it.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = _state.get_dtype(device_type)
        inside = _state.is_enabled(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args[1:], device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorates the `backward` that belongs to a `custom_fwd`: it runs with forward's autocast, or with none as forward did."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return decorated


# --- the switches, as functions of the namespace -----------------------------------------------------------------------
def is_autocast_enabled(device_type="cuda"):
    """True inside of `autocast` for a kind of device."""
    return _state.is_enabled(device_type)


def set_autocast_enabled(device_type, enabled=None):
    """Switch `autocast` on or off in this thread: (device_type, enabled), or (enabled) for cuda."""
    _state.set_enabled(*(("cuda", device_type) if enabled is None else (device_type, enabled)))


def get_autocast_dtype(device_type):
    """The dtype that `autocast` takes on a kind of device."""
    return _state.get_dtype(device_type)


def set_autocast_dtype(device_type, dtype):
    """Choose the dtype that `autocast` takes on a kind of device."""
    _state.set_dtype(device_type, dtype)


def is_autocast_cpu_enabled():
    """`is_autocast_enabled("cpu")`."""
    return _state.is_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """`set_autocast_enabled("cpu", enabled)`."""
    _state.set_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """`get_autocast_dtype("cpu")`."""
    return _state.get_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """`set_autocast_dtype("cpu", dtype)`."""
    _state.set_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """`get_autocast_dtype("cuda")`."""
    return _state.get_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """`set_autocast_dtype("cuda", dtype)`."""
    _state.set_dtype("cuda", dtype)


def is_autocast_cache_enabled():
    """True where `autocast` keeps the casts of parameters."""
    return _state.is_cache_enabled()


def set_autocast_cache_enabled(enabled):
    """Choose whether `autocast` keeps the casts of parameters."""
    _state.set_cache_enabled(enabled)


def clear_autocast_cache():
    """Forget the casts of parameters that `autocast` keeps."""
    _state.clear_cache()


def autocast_increment_nesting():
    """Count one more `autocast` around; returns their number."""
    return _state.change_nesting(1)


def autocast_decrement_nesting():
    """Count one `autocast` less; returns the number that is left."""
    return _state.change_nesting(-1)
