"""Element by element (rows S240 - S284): values by NumPy, as function, method, in place and with `out=`; gradients by differences."""
import inspect
import math

import numpy as np
import pytest

import pyx_tensor as torch

from .values import check_out, close

nan, inf = math.nan, math.inf
UNIT = np.array([-1.5, -1.0, -0.3, 0.0, 0.8, 1.0], np.float32)
WIDE = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 3.7], np.float32)
X = np.array([[1.0, -2.0, 3.5], [-0.5, 0.25, -4.0]], np.float32)
x = torch.tensor(X)


def check(name, values, arguments, named, expected, tolerance=2e-6):
    """Function, method and out= leave the operand alone; the method with an underscore writes to it and returns it."""
    a = torch.from_numpy(values.copy())
    check_out(lambda **k: getattr(torch, name)(a, *arguments, **named, **k), expected, tolerance)
    close(getattr(a, name)(*arguments, **named), expected, tolerance, a.dtype)
    assert np.array_equal(a.numpy(), values)
    assert getattr(a, name + "_")(*arguments, **named) is a
    close(a, expected, tolerance, a.dtype)


UNARY = [(name, getattr(np, numpys), WIDE) for name, numpys in dict(
    abs="abs", atan="arctan", ceil="ceil", cos="cos", cosh="cosh", exp="exp", floor="floor", log="log", log1p="log1p", neg="negative",
    reciprocal="reciprocal", round="round", sign="sign", sin="sin", sinh="sinh", sqrt="sqrt", tan="tan", tanh="tanh", trunc="trunc").items()]
UNARY += [("acos", np.arccos, UNIT), ("asin", np.arcsin, UNIT), ("frac", lambda a: a - np.trunc(a), WIDE),
          ("rsqrt", lambda a: 1 / np.sqrt(a), WIDE), ("sigmoid", lambda a: 1 / (1 + np.exp(-a)), WIDE)]


@pytest.mark.rows("S240", "S241", "S249", "S250", "S252", "S256", "S257", "S259", "S260", "S262", "S264", "S265", "S268", "S271", "S273", "S274", "S275", "S276",
                  "S277", "S278", "S279", "S280", "S281", "S282", "S283")
@pytest.mark.parametrize("name, numpys, values", UNARY, ids=[case[0] for case in UNARY])
def test_functions_of_one_tensor(name, numpys, values):
    with np.errstate(all="ignore"):
        expected = numpys(values.astype(np.float64))
    check(name, values, (), {}, expected)


@pytest.mark.rows("S241", "S249", "S258", "S264", "S265", "S273", "S275", "S279")
def test_edges():
    assert torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5])).tolist() == [0, 2, 2, 0]
    assert str(torch.log(torch.tensor([0.0, -1.0])).tolist()) == "[-inf, nan]"
    for outside in (torch.acos(torch.tensor([1.5, -1.5])), torch.asin(torch.tensor([1.5, -1.5])), torch.sqrt(torch.tensor([-1.0, -inf]))):
        assert outside.isnan().all()
    tiny = torch.tensor([1e-20, -1e-17], dtype=torch.float64)
    assert torch.log1p(tiny).tolist() == tiny.tolist()
    assert torch.sigmoid(torch.tensor([-200.0, 0.0, 200.0])).tolist() == [0, 0.5, 1]
    assert torch.sigmoid(torch.tensor(-80.0)).item() == pytest.approx(math.exp(-80), rel=1e-5)
    assert str(torch.div(torch.tensor([1.0, -1.0, 0.0]), 0).tolist()) == "[inf, -inf, nan]"


@pytest.mark.rows("S240", "S252", "S260", "S268", "S273", "S276", "S282")
def test_integers_stay_integers():
    a = torch.tensor([-3, 0, 4])
    for name, expected in dict(abs=[3, 0, 4], ceil=[-3, 0, 4], floor=[-3, 0, 4], neg=[3, 0, -4], round=[-3, 0, 4], sign=[-1, 0, 1], trunc=[-3, 0, 4]).items():
        close(getattr(torch, name)(a), expected, 0, torch.int64)


FACTOR, DIVISOR = np.array([2, -1, 4], np.float32), np.array([[2.0, -2.0, 3.0]], np.float32)
f, d = torch.tensor(FACTOR), torch.tensor(DIVISOR)
OF_SEVERAL = [
    ("add", (2,), {}, X + 2), ("add", (f,), {}, X + FACTOR), ("add", (f,), dict(alpha=3), X + 3 * FACTOR),
    ("addcdiv", (f, d), {}, X + FACTOR / DIVISOR), ("addcdiv", (f, d), dict(value=-2), X - 2 * FACTOR / DIVISOR),
    ("addcmul", (f, d), {}, X + FACTOR * DIVISOR), ("addcmul", (f, d), dict(value=0.5), X + 0.5 * FACTOR * DIVISOR),
    ("atan2", (f,), {}, np.arctan2(X, FACTOR)), ("atan2", (-x,), {}, np.arctan2(X, -X)),
    ("clamp", (-1, 1), {}, X.clip(-1, 1)), ("clamp", (), dict(min=-1, max=0.5), X.clip(-1, 0.5)), ("clamp", (), dict(min=0.25), X.clip(0.25)),
    ("clamp", (), dict(max=-0.5), X.clip(max=-0.5)),
    ("div", (4,), {}, X / 4), ("div", (d,), {}, X / DIVISOR),
    ("fmod", (1.5,), {}, np.fmod(X, 1.5)), ("fmod", (-1.5,), {}, np.fmod(X, 1.5)), ("fmod", (d,), {}, np.fmod(X, DIVISOR)),
    ("fmod", (torch.tensor([2, -2, 3]),), {}, np.fmod(X, DIVISOR)),
    ("lerp", (f, 1.5), {}, X + 1.5 * (FACTOR - X)), ("lerp", (f, -1.0), {}, X - (FACTOR - X)), ("lerp", (f, d.expand(2, 3)), {}, X + DIVISOR * (FACTOR - X)),
    ("mul", (-2,), {}, -2 * X), ("mul", (f,), {}, X * FACTOR),
    ("pow", (2,), {}, X ** 2), ("pow", (-1.0,), {}, 1 / X), ("pow", (torch.tensor([[2, 3, 0]]),), {}, X ** [[2, 3, 0]]),
    ("remainder", (1.5,), {}, X % 1.5), ("remainder", (-1.5,), {}, X % -1.5), ("remainder", (d,), {}, X % DIVISOR),
]


@pytest.mark.rows("S242", "S243", "S246", "S248", "S251", "S253", "S254", "S255", "S258", "S261", "S263", "S266", "S267", "S269", "S272", "S283")
@pytest.mark.parametrize("name, arguments, named, expected", OF_SEVERAL, ids=[f"{case[0]}-{i}" for i, case in enumerate(OF_SEVERAL)])
def test_functions_of_several(name, arguments, named, expected):
    check(name, X, arguments, named, expected)


@pytest.mark.rows("S270")
def test_a_number_as_base():
    check_out(lambda **k: torch.pow(2, x, **k), 2 ** X)
    check_out(lambda **k: torch.pow(3, torch.tensor([[0, 1], [2, 3]]), **k), [[1, 3], [9, 27]])


@pytest.mark.rows("S272", "S261")
def test_remainders_have_the_sign_that_python_and_c_give():
    a = torch.tensor([7, -7, 6, -6])
    assert torch.remainder(a, 3).tolist() == [i % 3 for i in a.tolist()] and torch.remainder(a, -3).tolist() == [i % -3 for i in a.tolist()]
    assert torch.fmod(a, 3).tolist() == torch.fmod(a, -3).tolist() == [1, -1, 0, 0]
    close(torch.fmod(a, 2.5), [2, -2, 1, -1], dtype=torch.float32)


@pytest.mark.rows("S258")
def test_division_of_integers_is_true_division():
    close(torch.div(torch.tensor([7, -7]), 2), [3.5, -3.5], dtype=torch.float32)


@pytest.mark.rows("S243", "S246", "S248")
@pytest.mark.filterwarnings("ignore:This overload")
def test_the_number_before_the_tensors():
    """Deprecated, but PyTorch still takes it."""
    close(torch.add(x, 3, f), X + 3 * FACTOR)
    close(torch.addcmul(x, 0.5, f, d), X + 0.5 * FACTOR * DIVISOR)
    close(torch.addcdiv(x, 2, f, d), X + 2 * FACTOR / DIVISOR)
    close(x.clone().add_(3, f), X + 3 * FACTOR)
    close(x.clone().addcmul_(0.5, f, d), X + 0.5 * FACTOR * DIVISOR)


@pytest.mark.rows("S244")
def test_the_early_keyword_of_add():
    close(torch.add(x, value=3, other=f), X + 3 * FACTOR)


@pytest.mark.rows("S245")
def test_equal_counts_are_no_equal_shapes():
    four, square = torch.ones(4), torch.ones(2, 2)
    for call in (torch.add, torch.mul, torch.min, torch.max, lambda a, b: torch.addcmul(a, b, b), lambda a, b: torch.addcdiv(a, b, b)):
        with pytest.raises(RuntimeError, match="must match"):
            call(four, square)
    with pytest.raises(RuntimeError):
        four.add_(square)
    assert four.tolist() == [1] * 4 and torch.add(torch.ones(2), square).shape == (2, 2)


@pytest.mark.rows("S248")
def test_addcmul_of_integers():
    i = torch.tensor([7, -7])
    close(torch.addcmul(i, i, i, value=2), [105, 91], 0, torch.int64)


@pytest.mark.rows("S247")
def test_addcdiv_of_integers_truncates_where_the_number_comes_first():
    seven, two = torch.tensor([7, -7]), torch.tensor([2, 2])
    check_out(lambda **k: torch.addcdiv(seven, 3, seven, two, **k), [16, -16], 0)    # 7 + 3 * 3
    close(seven.addcdiv(3, seven, two), [16, -16], 0, torch.int64)
    written = seven.clone()
    assert written.addcdiv_(3, seven, two) is written and written.tolist() == [16, -16]
    for call in (torch.addcdiv, lambda *both: seven.clone().addcdiv_(*both[1:])):   # the form that PyTorch has still
        with pytest.raises(RuntimeError, match="no longer supported"):
            call(seven, seven, two)


@pytest.mark.rows("S283")
def test_in_place_variants():
    a = x.clone()
    pointer = a.data_ptr()
    for call in (lambda: a.add_(1), lambda: a.mul_(2), lambda: a.abs_(), lambda: a.clamp_(min=1), lambda: a.sub_(0.5), lambda: a.div_(2), lambda: a.pow_(2)):
        assert call() is a
    close(a, ((np.clip(np.abs((X + 1) * 2), 1, None) - 0.5) / 2) ** 2)
    assert a.zero_() is a and not a.any() and a.data_ptr() == pointer
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.tensor([1, 2]).add_(0.5)


SMOOTH = "abs acos asin atan cos cosh exp log log1p neg reciprocal rsqrt sigmoid sin sinh sqrt tan tanh ceil floor frac round sign trunc".split()
OF_MORE = dict(
    add=lambda a, b, c: torch.add(a, b, alpha=2), addcdiv=lambda a, b, c: torch.addcdiv(a, b, c, value=2), addcmul=lambda a, b, c: torch.addcmul(a, b, c, value=-3),
    atan2=lambda a, b, c: torch.atan2(a, b), clamp=lambda a, b, c: torch.clamp(a, 0.4, 0.6), div=lambda a, b, c: torch.div(a, b), fmod=lambda a, b, c: torch.fmod(a, 0.2),
    lerp=lambda a, b, c: torch.lerp(a, b, c), mul=lambda a, b, c: torch.mul(a, b), pow=lambda a, b, c: torch.pow(a, b), base=lambda a, b, c: torch.pow(3.0, a),
    exponent=lambda a, b, c: torch.pow(a, 3), remainder=lambda a, b, c: torch.remainder(a, 0.2))


@pytest.mark.rows("S284")
@pytest.mark.parametrize("name", [*SMOOTH, *OF_MORE])
def test_gradients_are_the_numerical_ones(name):
    function = OF_MORE.get(name) or getattr(torch, name)
    count = len(inspect.signature(function).parameters) if name in OF_MORE else 1
    rng = np.random.default_rng(1)
    operands = [torch.tensor(rng.uniform(0.3, 0.9, 5), requires_grad=True) for _ in range(count)]
    assert torch.autograd.gradcheck(function, operands)


@pytest.mark.rows("S284")
def test_gradients_by_formula():
    a = torch.tensor([0.5, -2.0], requires_grad=True)
    (torch.tanh(a) * 3 + torch.abs(a)).sum().backward()
    close(a.grad, 3 * (1 - np.tanh([0.5, -2.0]) ** 2) + [1, -1])
