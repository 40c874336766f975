"""The places that sparse tensors list, as numbers: found, compared, made unique."""
from ..core.dtype import by_name
from ..core.record import namespace as B

INT64, BOOL = by_name["int64"], by_name["bool"]


def place_numbers(indices, shape):
    """The places as one number each: their position in row-major order."""
    numbers = B.zeros((indices.shape[1],), dtype=INT64, device=indices.device)
    for row, size in zip(B.unbind(indices, 0), shape):
        numbers = B.add(B.mul(numbers, size), row)
    return numbers


def matches(listed, indices, shape):
    """Which of the places `indices` are among those listed, which are sorted and unique, and where in the list."""
    have, wanted = place_numbers(listed, shape), place_numbers(indices, shape)
    if not have.shape[0]:
        return B.zeros(tuple(wanted.shape), dtype=BOOL, device=wanted.device), B.zeros_like(wanted)
    position = B.clamp(B.searchsorted(have, wanted), 0, have.shape[0] - 1)
    return B.eq(B.index_select(have, 0, position), wanted), position


def unique_places(indices, shape):
    """The places sorted and without repetition, where in them each of the given ones is, and their number."""
    numbers, places = B.unique(place_numbers(indices, shape), return_inverse=True)
    rows, rest = [], numbers
    for size in reversed(shape[:indices.shape[0]]):
        rows.append(B.remainder(rest, max(size, 1)))
        rest = B.floor_divide(rest, max(size, 1))
    count = numbers.shape[0]
    return (B.stack(rows[::-1]) if rows else B.zeros((0, count), dtype=INT64, device=indices.device)), places, count
