"""Calls every public operation with odd shapes, layouts and values, for a memory checker to watch.

    PYTHONMALLOC=malloc valgrind --error-exitcode=9 --undef-value-errors=no --suppressions=tests/memcheck.supp python tests/memcheck.py

Results aren't looked at: other tests do that. A refusal (any exception) is fine, an invalid read or write isn't. Valgrind
may know fewer instructions than the processor; the levels it can't run are left out.
"""
import sys
import warnings

import pyx_tensor as torch
from pyx_tensor.core.definitions import operations
from pyx_tensor.core.signature import Dim, Dims, Raw, Raws, T, Ts, Type

SHAPES = [(), (0,), (1,), (3,), (17,), (0, 3), (3, 0), (1, 1), (2, 3), (5, 33), (2, 1, 3), (1, 2, 0, 3), (2, 3, 1, 5)]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.complex64, torch.int32]


def plain(shape, dtype):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) % 7 - 3).reshape(shape).to(dtype)


def layouts(x):
    """The tensor; the same values transposed in memory, every second element, backwards from an offset, broadcast."""
    yield x
    if x.ndim >= 2:
        yield x.transpose(0, -1).contiguous().transpose(0, -1)
    if x.ndim:
        wide = torch.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), dtype=x.dtype)
        part = wide[..., 1::2]
        part.copy_(x)
        yield part
        yield x.select(-1, 0).unsqueeze(-1).expand(x.shape) if x.shape[-1] else x


def tensors(dtypes):
    for dtype in dtypes:
        for shape in SHAPES:
            yield from layouts(plain(shape, dtype))


def plain_arguments(name):
    """What to try for an argument that isn't a tensor, by its name."""
    return {"dim": (0, -1), "dim0": (0,), "dim1": (-1,), "dims": ((0,), (-1,)), "shape": ((-1,),), "size": ((2, 3), (0,)), "k": (0, 1, 2), "n": (2,),
            "sizes": ((-1,),), "shifts": (2,), "p": (0.5, 2), "mask": (None,), "largest": (True, False), "descending": (True, False)}.get(
                name, (1, 0.5, True, (1, 1), None))


def others(kind, first, second):
    if kind == Raw:
        yield torch.zeros(first.shape, dtype=torch.int64)
        yield first != 0
        yield torch.tensor([0, -1, 1])
    yield second
    if kind == T:
        yield 2


def calls(operation, first, second):
    """Argument lists: each tensor parameter by a few tensors, each other one by a few values; the rest by the first."""
    signature = operation.signature
    choices = []
    for kind, name, default in zip(signature.kinds, signature.params, signature.defaults):
        if not choices and kind in (T, Raw):
            choices.append([first])
        elif kind in (T, Raw):
            choices.append(list(others(kind, first, second)))
        elif kind in (Ts, Raws):
            choices.append([[first, second], [first], []])
        elif kind in (Dim, Dims):
            choices.append([0, -1])
        elif kind == Type:
            choices.append([None, torch.float64])
        elif default is not signature.REQUIRED:
            choices.append([default])
        else:
            choices.append(list(plain_arguments(name)))
    base = [options[0] for options in choices]
    yield base
    for i, options in enumerate(choices):
        for option in options[1:]:
            yield [*base[:i], option, *base[i + 1:]]


def attempt(operation, arguments, counts):
    try:
        operation(*arguments)
        counts[0] += 1
    except (Exception, RecursionError) as error:      # any refusal will do; a crash or an invalid access will not
        counts[1] += 1
        if isinstance(error, SystemError):
            raise


def gradients(operation, first, second):
    x = first.detach().clone().requires_grad_()
    result = operation(x, *[second] * (operation.signature.kinds.count(T) - 1))
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()


def run(names, dtypes):
    counts = [0, 0]
    for name in names:
        operation = operations[name]
        for first in tensors(dtypes):
            partners = [first, first.flip(tuple(range(first.ndim))) if first.numel() else first, torch.ones(3, dtype=first.dtype)]
            for second in partners[1:]:
                for arguments in calls(operation, first, second):
                    attempt(operation, arguments, counts)
            if first.is_floating_point() and operation.signature.kinds[:1] == (T,):
                attempt(lambda *a: gradients(*a), (operation, first, partners[1]), counts)
    return counts


def main(arguments):
    warnings.simplefilter("ignore")
    from pyx_tensor_cpu.level import set_cpu_level, supported_levels
    names = {str(dtype).split(".")[1]: dtype for dtype in DTYPES}
    unknown = [a for a in arguments if a not in operations and a not in names and a not in supported_levels()]
    if unknown:
        raise SystemExit(f"{unknown}: neither operations, nor dtypes of {sorted(names)}, nor levels of {supported_levels()}")
    chosen = [a for a in arguments if a in operations] or sorted(operations)
    dtypes = [names[a] for a in arguments if a in names] or DTYPES
    levels = [a for a in arguments if a in supported_levels()] or supported_levels()
    for level in levels:
        set_cpu_level(level)
        done, refused = run(chosen, dtypes)
        print(f"{level}: {len(chosen)} operations, {done} calls, {refused} refused")
        if not done:
            raise SystemExit("no call succeeded: nothing was checked")


if __name__ == "__main__":
    main(sys.argv[1:])
