"""Arguments that are a number for each dim, or one for all."""


def _ntuple(count, name=None):
    """The function that makes a tuple of `count` numbers of one; sequences it takes as they are."""
    def parse(x):
        return tuple(x) if hasattr(x, "__iter__") else (x,) * count
    parse.__name__ = name or f"_{count}tuple"
    return parse


_single, _pair, _triple, _quadruple = [_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)]


def _reverse_repeat_tuple(t, n):
    """The elements in reverse order, each `n` times: padding per dim as ``functional.pad`` wants it."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _list_with_default(out_size, defaults):
    """Sizes with those of `defaults` (its last ones) in the place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size):])]
