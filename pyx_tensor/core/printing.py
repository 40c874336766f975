"""The text of a tensor: a pure function of a NumPy array and a little metadata.

The layout, down to the padding, is PyTorch's, so that doctests and logs written with PyTorch compare equal.
Nothing here knows tensors: :func:`format_tensor` gets what it needs as arguments.
"""
import contextlib
import math
import numbers
import operator
from typing import NamedTuple

import numpy as np

__all__ = ["PARAMETER_HEADER", "edge_indices", "format_tensor", "get_printoptions", "printoptions", "set_printoptions"]

PARAMETER_HEADER = "Parameter containing:\n"

# The dtypes of Python's int and bool literals: the reader expects them, so they are not spelled out.
_LITERAL_DTYPES = frozenset({"int64", "bool"})
# Beyond these, fixed notation would show too few digits of the small or too many of the large elements.
_MAX_FIXED_RATIO = 1000.0
_MAX_FIXED = 1e8
_MIN_FIXED = 1e-4


class PrintOptions(NamedTuple):
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": dict(precision=4, threshold=1000, edgeitems=3, linewidth=80),
    "short": dict(precision=2, threshold=1000, edgeitems=2, linewidth=80),
    "full": dict(precision=4, threshold=math.inf, edgeitems=3, linewidth=80),
}

_options = PrintOptions()


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors are printed, in the whole process.

    Args:
        precision: digits after the decimal point (default 4).
        threshold: number of elements above which only the edges are shown (default 1000).
        edgeitems: elements shown at each edge of a summarised dimension (default 3).
        linewidth: characters per line (default 80).
        profile: ``"default"``, ``"short"`` or ``"full"``: sets the four options above; those also given win.
        sci_mode: True or False forces scientific notation on or off; None, which every call that does not
            give it restores, chooses by the values.

    Raises TypeError or ValueError, and changes nothing, when an argument cannot be used.
    """
    global _options
    changes = _profile_options(profile)
    for name, value, check in (
        ("precision", precision, _count), ("threshold", threshold, _real),
        ("edgeitems", edgeitems, _count), ("linewidth", linewidth, _real),
    ):
        if value is not None:
            changes[name] = check(name, value)
    _options = _options._replace(sci_mode=sci_mode, **changes)


def get_printoptions():
    """The current print options, as a dict that ``set_printoptions(**options)`` takes."""
    return _options._asdict()


@contextlib.contextmanager
def printoptions(**options):
    """Context manager: ``set_printoptions(**options)`` inside, the former options afterwards."""
    former = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**former)


def _profile_options(profile):
    if profile is None:
        return {}
    if profile not in _PROFILES:
        raise ValueError(f"set_printoptions(): profile must be one of {', '.join(map(repr, _PROFILES))}, got {profile!r}")
    return dict(_PROFILES[profile])


def _count(name, value):
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"set_printoptions(): {name} must be an int, got {type(value).__name__}") from None
    if count < 0:
        raise ValueError(f"set_printoptions(): {name} must not be negative, got {count}")
    return count


def _real(name, value):
    if not isinstance(value, numbers.Real):
        raise TypeError(f"set_printoptions(): {name} must be a number, got {type(value).__name__}")
    return value


def format_tensor(array, *, dtype_name, is_default_dtype, device=None, requires_grad=False, grad_fn_name=None,
                  prefix="tensor(", tensor_contents=None, shape=None):
    """The ``repr`` of a tensor.

    Args:
        array: the elements. None for a tensor that has none to show (give ``shape``), whose contents are ``...``.
        dtype_name: such as ``"float32"``.
        is_default_dtype: whether the dtype is the default floating-point dtype or the complex dtype made of it.
        device: the device's name where it is to be shown.
        requires_grad, grad_fn_name: autograd's part; a grad_fn hides ``requires_grad=True``.
        prefix: what stands before the elements, ``"ClassName("`` for a subclass of Tensor.
        tensor_contents: text to show in place of the elements.
        shape: the tensor's shape, where ``array`` holds only the elements that ``edge_indices(shape)`` selects
            (a large tensor on a device need not be copied whole).
    """
    options = _options
    without_data = array is None
    if shape is None:
        shape = array.shape
    empty = 0 in shape
    if tensor_contents is None:
        tensor_contents = "..." if without_data else _format_elements(array, shape, len(prefix), options)

    suffixes = []
    if device is not None:
        suffixes.append(f"device='{device}'")
    if without_data or (len(shape) != 1 if empty else options.edgeitems == 0):
        suffixes.append(f"size={tuple(shape)}")
    # Elements show whether they are int, bool or complex; where there are none, the dtype is spelled out.
    if without_data or empty:
        implied = is_default_dtype and not dtype_name.startswith("complex")
    else:
        implied = is_default_dtype or dtype_name in _LITERAL_DTYPES
    if not implied:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return _append_suffixes(prefix + tensor_contents, suffixes, len(prefix), options.linewidth)


def format_sparse(arrays, *, shape, count, layout, dtype_name, is_default_dtype, device=None, requires_grad=False, grad_fn_name=None):
    """The ``repr`` of a sparse tensor: its arrays by name (places, values), then what it is. Arguments as above.

    Args:
        count: the number of values. layout: its name; ``"sparse_coo"`` has the last part on a line of its own.
    """
    indent = len("tensor(")
    parts = []
    for name, array in arrays.items():
        prefix = f"{name}=tensor("
        text = _format_elements(array, array.shape, indent + len(prefix), _options)
        parts.append(f"{prefix}{text}" + (f", size={array.shape})" if 0 in array.shape else ")"))
    suffixes = [f"device='{device}'"] if device is not None else []
    suffixes += [f"size={tuple(shape)}", f"nnz={count}"]
    if not (is_default_dtype or dtype_name in _LITERAL_DTYPES):
        suffixes.append(f"dtype=torch.{dtype_name}")
    suffixes.append(f"layout=torch.{layout}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if layout == "sparse_coo":
        parts.append(suffixes.pop(0))
    lines = f",\n{' ' * indent}".join(parts)
    return _append_suffixes(f"tensor({lines}", suffixes, indent, _options.linewidth)


def edge_indices(shape):
    """For each dimension of a tensor of this shape the indices shown, or None where all are.

    None alone means that the tensor is small enough to be shown whole.
    """
    options = _options
    elided = _elided(shape, options)
    if not elided:
        return None
    return [_edge_positions(size, options.edgeitems) if dim in elided else None for dim, size in enumerate(shape)]


def _elided(shape, options):
    """The dimensions whose middle is left out."""
    if math.prod(shape) > options.threshold:
        return frozenset(dim for dim, size in enumerate(shape) if size > 2 * options.edgeitems)
    return frozenset()


def _edge_positions(size, edge):
    return [*range(edge), *range(size - edge, size)]


def _format_elements(array, shape, indent, options):
    if 0 in shape:
        return "[]"
    elided = _elided(shape, options)
    if elided and options.edgeitems == 0:
        return "[...]"
    if array.shape == tuple(shape):
        array = _edges(array, elided, options.edgeitems)
    texts, width = _format_values(array.ravel(), options)
    if not shape:
        return texts[0]
    room = options.linewidth - indent - (len(shape) - 1)
    per_line = max(1, math.floor(room / (width + len(", "))))
    nested = np.array(texts, dtype=object).reshape(array.shape).tolist()
    return _bracket(nested, 0, len(shape), indent + 1, per_line, elided, options.edgeitems)


def _edges(array, elided, edge):
    for dim in elided:
        array = array.take(_edge_positions(array.shape[dim], edge), axis=dim)
    return array


def _bracket(items, dim, ndim, indent, per_line, elided, edge):
    """Brackets, commas and line breaks around the texts of the elements from dimension ``dim`` inwards."""
    innermost = dim == ndim - 1
    parts = items if innermost else [
        _bracket(item, dim + 1, ndim, indent + 1, per_line, elided, edge) for item in items]
    if dim in elided:
        parts = [*parts[:edge], " ..." if innermost else "...", *parts[edge:]]
    if innermost:
        parts = [", ".join(parts[start:start + per_line]) for start in range(0, len(parts), per_line)]
    line_breaks = "\n" if innermost else "\n" * (ndim - 1 - dim)
    return "[" + f",{line_breaks}{' ' * indent}".join(parts) + "]"


def _append_suffixes(text, suffixes, indent, linewidth):
    """``text, suffix, ...)``, with a line break where the next suffix would not fit."""
    pieces = [text]
    # One more than the line's length: room for the closing parenthesis.
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > linewidth:
            pieces.append(f",\n{' ' * indent}{suffix}")
            length = indent + len(suffix)
        else:
            pieces.append(f", {suffix}")
            length += len(suffix) + 2
    return "".join(pieces) + ")"


def _format_values(values, options):
    """The texts of a flat array, padded to align, and the width they count for when lines are broken."""
    if values.dtype.kind in "biu":
        return _align([str(value) for value in values.tolist()])
    if values.dtype.kind == "c":
        real, real_width = _format_floats(values.real, options)
        imag, imag_width = _format_floats(values.imag, options)
        texts = [_join_complex(r, i.lstrip()) for r, i in zip(real, imag)]
        return texts, real_width + imag_width + len("j")
    return _format_floats(values, options)


def _join_complex(real, imag):
    sign = "" if imag.startswith("-") else "+"
    return f"{real}{sign}{imag}j"


def _align(texts, width=None):
    if width is None:
        width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _format_floats(values, options):
    """As _format_values, for real floating-point values: one notation for all of them.

    Only the finite, non-zero values decide on the notation and the width: a longer ``nan``, ``-inf`` or ``-0.``
    stands out of its column, as in PyTorch.
    """
    values = values.astype(np.float64)   # exact, and the thresholds are compared in double precision
    decisive = np.isfinite(values) & (values != 0)
    magnitudes = np.abs(values[decisive])
    if not magnitudes.size:
        return _align([_integral_text(value) for value in values.tolist()], width=1)
    low, high = float(magnitudes.min()), float(magnitudes.max())
    integral = bool(np.all(magnitudes == np.floor(magnitudes)))
    scientific = options.sci_mode
    if scientific is None:
        scientific = high / low > _MAX_FIXED_RATIO or high > _MAX_FIXED or low < _MIN_FIXED
    if scientific or not integral:
        spec = f".{options.precision}{'e' if scientific else 'f'}"
        texts = [format(value, spec) for value in values.tolist()]
    else:
        texts = [_integral_text(value) for value in values.tolist()]
    width = max(len(text) for text, counts in zip(texts, decisive.tolist()) if counts)
    return _align(texts, width)


def _integral_text(value):
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
