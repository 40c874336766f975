"""Process-wide settings that PyTorch programs make. What they ask for holds here anyway, unless said otherwise below."""

from .protocol import permissions

_PRECISIONS = ("highest", "high", "medium")
_deterministic = {"mode": False, "warn_only": False}
_precision = {"float32": "highest"}
_warnings = {"always": False}
_DEBUG_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for operations that give the same bits in every run. The CPU's always do; a CUDA device's then add up what meets at one place
    in a fixed order.

    Args:
        warn_only: where there is no such algorithm, warn and go on.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(value).__name__}")
    _deterministic.update(mode=mode, warn_only=warn_only)
    permissions.deterministic = mode


def are_deterministic_algorithms_enabled():
    """Whether deterministic algorithms are asked for."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether an operation without a deterministic algorithm only warns."""
    return _deterministic["warn_only"]


def set_float32_matmul_precision(precision):
    """Allow less than float32's precision inside float32 matrix products: 'highest', 'high' or 'medium'.

    It's a permission, of which the CPU makes no use; CUDA devices round factors to 10 bits (TF32) unless it's 'highest'.
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"set_float32_matmul_precision(): precision must be one of {', '.join(_PRECISIONS)}, got {precision!r}")
    _precision["float32"] = precision
    permissions.tf32 = precision != "highest"


def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` last allowed."""
    return _precision["float32"]


def set_flush_denormal(mode):
    """Subnormal numbers are always kept: asking to flush them returns False, as PyTorch does where it can't be done."""
    return not mode


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by a word or number: 'default' (0), 'warn' (1) or 'error' (2)."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode not in _DEBUG_MODES and debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected one of {', '.join(_DEBUG_MODES)} or 0, 1, 2, but got {debug_mode}")
    level = _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    """What `set_deterministic_debug_mode` stands at: 0, 1 or 2."""
    return 0 if not _deterministic["mode"] else 1 if _deterministic["warn_only"] else 2


def set_warn_always(b):
    """Taken for programs that ask for it: every warning is given each time here anyway, as Python's filters let it."""
    _warnings["always"] = bool(b)


def is_warn_always_enabled():
    """What `set_warn_always` last said."""
    return _warnings["always"]
