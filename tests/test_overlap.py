"""Writes through memory that overlaps itself or the source: right, or refused before anything is written."""
import pytest

import pyx_tensor as torch


def numbers(n=6):
    return torch.arange(n, dtype=torch.float64)


def right_or_refused(write, memory, expected):
    """`write()` leaves `expected` in `memory`, or raises RuntimeError and leaves it as it was."""
    before = memory.tolist()
    try:
        write()
    except RuntimeError as error:
        assert "memory location" in str(error) or "overlap" in str(error)
        assert memory.tolist() == before
    else:
        assert memory.tolist() == expected


SHIFTS = [
    (lambda x: x[1:].copy_(x[:-1]), [0, 0, 1, 2, 3, 4]),
    (lambda x: x[:-1].copy_(x[1:]), [1, 2, 3, 4, 5, 5]),
    (lambda x: x[1:].add_(x[:-1]), [0, 1, 3, 5, 7, 9]),
    (lambda x: x[:-1].mul_(x[1:]), [0, 2, 6, 12, 20, 5]),
    (lambda x: x.__setitem__(slice(1, None), x[:-1]), [0, 0, 1, 2, 3, 4]),
    (lambda x: x.copy_(x.flip(0)), [5, 4, 3, 2, 1, 0]),
    (lambda x: x.sub_(x[2]), [-2, -1, 0, 1, 2, 3]),
    (lambda x: x.div_(x[2]), [0, 0.5, 1, 1.5, 2, 2.5]),
    (lambda x: x[::2].add_(x[1::2]), [1, 1, 5, 3, 9, 5]),
    (lambda x: x.view(2, 3).copy_(x.view(3, 2).t()), [0, 2, 4, 1, 3, 5]),
    (lambda x: x.view(2, 3)[:, 1:].copy_(x.view(2, 3)[:, :-1]), [0, 0, 1, 3, 3, 4]),
    (lambda x: x.as_strided((5,), (1,), 1).copy_(x.as_strided((5,), (1,), 0)), [0, 0, 1, 2, 3, 4]),
    (lambda x: torch.add(x[:-1], 1, out=x[1:]), [0, 1, 2, 3, 4, 5]),
    (lambda x: torch.mul(x[1:], x[:-1], out=x[:-1]), [0, 2, 6, 12, 20, 5]),
    (lambda x: torch.sub(x, x[1], out=x), [-1, 0, 1, 2, 3, 4]),
]


@pytest.mark.parametrize("case", range(len(SHIFTS)))
def test_source_and_target_overlap(case):
    write, expected = SHIFTS[case]
    x = numbers()
    right_or_refused(lambda: write(x), x, expected)


def test_operators_on_shifted_parts():
    x = numbers()

    def write():
        x[1:] += x[:-1]
    right_or_refused(write, x, [0, 1, 3, 5, 7, 9])


@pytest.mark.parametrize("size", [3, 1000, 70_000])
def test_shifts_of_all_lengths(size):
    x = numbers(size)
    right_or_refused(lambda: x[1:].copy_(x[:-1]), x, [0, *range(size - 1)])


@pytest.mark.parametrize("name, args", [("add_", (1,)), ("mul_", (2,)), ("copy_", (torch.ones(3, 2),)), ("exp_", ()), ("sub_", (torch.ones(2),)),
                                        ("sigmoid_", ()), ("div_", (2,)), ("clamp_", (0, 1))])
def test_expanded_tensors_are_not_written_to(name, args):
    x = torch.tensor([1.0, 2.0])
    wide = x.expand(3, 2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        getattr(wide, name)(*args)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


def test_out_is_not_expanded():
    x = torch.zeros(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(torch.ones(3), 1, out=x.expand(3))
    assert x.tolist() == [0.0]


@pytest.mark.parametrize("write", [lambda w: w.add_(1), lambda w: w.copy_(torch.ones(4, 3)), lambda w: w.mul_(2)])
def test_overlapping_windows_are_not_written_to(write):
    x = numbers()
    windows = x.as_strided((4, 3), (1, 1))
    with pytest.raises(RuntimeError, match="single memory location"):
        write(windows)
    with pytest.raises(RuntimeError, match="single memory location"):
        write(x.unfold(0, 3, 1))
    assert x.tolist() == numbers().tolist()


def test_windows_that_do_not_overlap_are_written_to():
    x = numbers()
    x.unfold(0, 3, 3).add_(1)
    x.as_strided((2, 2), (4, 1)).mul_(10)
    assert x.tolist() == [10, 20, 3, 4, 50, 60]


def test_size_one_dims_do_not_count():
    x = torch.zeros(3)
    x.as_strided((1, 3), (0, 1)).add_(1)
    x.expand(1, 3).add_(1)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("write, expected", [
    (lambda x: x[1:].add_(x[:-1]), [3.0, 3.0, 3.0, 2.0]),
    (lambda x: x[1:].mul_(x[:-1]), None),
    (lambda x: x.add_(x), [2.0, 4.0, 6.0, 8.0]),
    (lambda x: x.mul_(x), [0.0, 4.0, 12.0, 24.0]),
    (lambda x: x.sub_(x[1]), [1.0, -8.0, 3.0, 4.0]),
])
def test_gradients_through_overlapping_writes(write, expected):
    """The weights are 1, 2, 3, 4 and x is 0, 1, 2, 3."""
    weights = torch.arange(1, 5, dtype=torch.float64)
    x = torch.arange(4, dtype=torch.float64, requires_grad=True)
    y = x * 1
    try:
        write(y)
    except RuntimeError as error:
        assert "memory location" in str(error) or "overlap" in str(error)
        return
    (y * weights).sum().backward()
    reference = torch.arange(4, dtype=torch.float64, requires_grad=True)
    if expected is None:
        (torch.cat([reference[:1], reference[1:] * reference[:-1]]) * weights).sum().backward()
        expected = reference.grad.tolist()
    elif expected == [3.0, 3.0, 3.0, 2.0]:
        (torch.cat([reference[:1], reference[1:] + reference[:-1]]) * weights).sum().backward()
        expected = reference.grad.tolist()
    assert x.grad.tolist() == expected


def test_gradients_through_overlapping_windows_add_up():
    x = torch.arange(4, dtype=torch.float64, requires_grad=True)
    x.unfold(0, 2, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]
    x.grad = None
    (x * 1).as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]
    x.grad = None
    (x * 1).expand(3, 4).sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 3]
