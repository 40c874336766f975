"""Process-wide settings that PyTorch programs make. What they ask for holds here anyway, unless said otherwise below."""

_PRECISIONS = ("highest", "high", "medium")
_deterministic = {"mode": False, "warn_only": False}
_precision = {"float32": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for operations that give the same bits in every run. The CPU's always do; a backend whose don't may ask
    `are_deterministic_algorithms_enabled`.

    Args:
        warn_only: where there is no such algorithm, warn and go on.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(value).__name__}")
    _deterministic.update(mode=mode, warn_only=warn_only)


def are_deterministic_algorithms_enabled():
    """Whether deterministic algorithms are asked for."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether an operation without a deterministic algorithm only warns."""
    return _deterministic["warn_only"]


def set_float32_matmul_precision(precision):
    """Allow less than float32's precision inside float32 matrix products: 'highest', 'high' or 'medium'.

    It's a permission, of which the CPU makes no use.
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"set_float32_matmul_precision(): precision must be one of {', '.join(_PRECISIONS)}, got {precision!r}")
    _precision["float32"] = precision


def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` last allowed."""
    return _precision["float32"]


def set_flush_denormal(mode):
    """Subnormal numbers are always kept: asking to flush them returns False, as PyTorch does where it can't be done."""
    return not mode
