"""The CPU backend's optimizer steps against the published formulas in float64."""
import itertools

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import level, optim

DTYPES = [np.dtype(t) for t in ("f2", ml_dtypes.bfloat16, "f4", "f8", "c8", "c16")]
SHAPES = [(), (3, 4), (0,), (70_001,)]


def sample(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
    return np.asarray(values).astype(dtype)


def wide(a):
    return a.astype("c16" if a.dtype.kind == "c" else "f8")


def close(got, expected):
    eps = float(ml_dtypes.finfo(got.dtype).eps)
    np.testing.assert_allclose(wide(got), expected, rtol=16 * eps, atol=16 * eps)


def each_part(f, *arrays):
    """f on float arrays; complex ones part by part, as PyTorch's Adam takes them."""
    if arrays[0].dtype.kind != "c":
        return f(*arrays)
    parts = zip(f(*[a.real for a in arrays]), f(*[a.imag for a in arrays]))
    return [np.asarray(real + 1j * imag) for real, imag in parts]


def sgd(p, g, buf, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    g = (-g if maximize else g) + weight_decay * p
    if momentum:
        buf = g if first else momentum * buf + (1 - dampening) * g
        g = g + momentum * buf if nesterov else buf
    return p - lr * g, buf


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("momentum, dampening, nesterov", [(0, 0, False), (0.9, 0, False), (0.9, 0.3, False), (0.9, 0, True)])
def test_sgd(dtype, momentum, dampening, nesterov):
    for weight_decay, maximize in itertools.product((0, 0.1), (False, True)):
        params = [sample(s, dtype, 0) for s in SHAPES]
        bufs = [np.zeros_like(p) for p in params] if momentum else None
        for step in range(3):
            grads = [sample(s, dtype, step + 1) for s in SHAPES]
            settings = (0.01, momentum, dampening, weight_decay, nesterov, maximize)
            expected = [sgd(wide(p), wide(g), wide(b), *settings, step == 0)
                        for p, g, b in zip(params, grads, bufs or params)]
            kept = [g.copy() for g in grads]
            optim.sgd_step_(params, grads, bufs, *settings, [step == 0] * len(params))
            for i, (param, buf) in enumerate(expected):
                close(params[i], param)
                np.testing.assert_array_equal(grads[i], kept[i])
                if momentum:
                    close(bufs[i], buf)


def adam(lr, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize, step):
    def one(p, g, avg, avg_sq, largest):
        g = -g if maximize else g
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        avg = beta1 * avg + (1 - beta1) * g
        avg_sq = beta2 * avg_sq + (1 - beta2) * g * g
        largest = np.maximum(largest, avg_sq) if amsgrad else largest
        corrected = (largest if amsgrad else avg_sq) / (1 - beta2 ** step)
        return p - lr * (avg / (1 - beta1 ** step)) / (np.sqrt(corrected) + eps), avg, avg_sq, largest
    return one


@pytest.mark.parametrize("dtype", DTYPES[2:], ids=str)
@pytest.mark.parametrize("decoupled, amsgrad, maximize, beta1", [
    (False, False, False, 0.9), (True, False, False, 0.9), (False, True, True, 0.9), (True, True, False, 0.9), (False, False, True, 0.3)])
def test_adam(dtype, decoupled, amsgrad, maximize, beta1):
    for weight_decay in (0, 0.1):
        params = [sample(s, dtype, 0) for s in SHAPES]
        avgs, avg_sqs, largest = ([np.zeros_like(p) for p in params] for _ in range(3))
        counts = [np.array(0, "f4") for _ in params]
        for step in (1, 2, 3):
            grads = [sample(s, dtype, step) for s in SHAPES]
            settings = (0.01, beta1, 0.99, 1e-8, weight_decay, decoupled, amsgrad, maximize)
            formula = adam(*settings, step)
            expected = [each_part(formula, *map(wide, arrays)) for arrays in zip(params, grads, avgs, avg_sqs, largest)]
            optim.adam_step_(params, grads, avgs, avg_sqs, largest if amsgrad else None, counts, *settings)
            assert counts == [step] * len(params)
            for i, results in enumerate(expected):
                for got, value in zip((params[i], avgs[i], avg_sqs[i], largest[i]), results):
                    close(got, value)


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_half_types_are_computed_in_float32(dtype):
    arrays = [[np.abs(sample((50,), dtype, seed))] for seed in range(4)]
    singles = [[a.astype("f4") for a in group] for group in arrays]
    for group in (arrays, singles):
        optim.adam_step_(*group, None, [np.array(1, "f4")], 0.01, 0.9, 0.99, 1e-8, 0.0, False, False, False)
    for half, single in zip(arrays, singles):
        np.testing.assert_array_equal(half[0], single[0].astype(dtype))


def test_other_layouts():
    rng = np.random.default_rng(0)
    a, g = rng.standard_normal((2, 30, 40))
    views = [np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a.copy()]
    optim.sgd_step_(views, [g, np.asfortranarray(g), g], None, 0.1, 0, 0, 0, False, False, None)
    for view in views:
        np.testing.assert_allclose(view, a - 0.1 * g, rtol=1e-15, atol=1e-15)


def test_nan_reaches_the_parameter():
    for amsgrad in (False, True):
        param, state = np.ones(3), [[np.zeros(3)] for _ in range(3)]
        optim.adam_step_([param], [np.array([np.nan, 1, 2])], *state, [np.array(0, "f4")], 0.01, 0.9, 0.99, 1e-8, 0, False, amsgrad, False)
        assert np.isnan(param).tolist() == [True, False, False]


def test_bad_input_changes_nothing():
    good, bad = np.ones(3, "f4"), np.ones(3, "f4")
    settings = (0.1, 0, 0, 0, False, False, None)
    with pytest.raises(ValueError, match=r"expected shape \(3,\) and dtype float32.*got \(4,\)"):
        optim.sgd_step_([good, bad], [np.ones(3, "f4"), np.ones(4, "f4")], None, *settings)
    with pytest.raises(ValueError, match="got 2 parameters and 1 grads"):
        optim.sgd_step_([good, bad], [good], None, *settings)
    with pytest.raises(TypeError, match="float32 and float64"):
        optim.sgd_step_([good, np.ones(3)], [good, np.ones(3)], None, *settings)
    with pytest.raises(TypeError, match="got dtype int64"):
        optim.sgd_step_([np.ones(3, "i8")], [np.ones(3, "i8")], None, *settings)
    bad.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        optim.sgd_step_([good, bad], [good, good], None, *settings)
    with pytest.raises(ValueError, match="amsgrad needs"):
        optim.adam_step_([good], [good], [good], [good], None, [1], 0.1, 0.9, 0.99, 1e-8, 0, False, True, False)
    assert good.tolist() == [1, 1, 1]


def two_loops(gradient, changes, steps, factors, scale):
    """L-BFGS's direction (Nocedal, Wright, Numerical Optimization, algorithm 7.4)."""
    direction, weights = -gradient, []
    for y, s, factor in reversed(list(zip(changes, steps, factors))):
        weights.append(factor * (s @ direction))
        direction = direction - weights[-1] * y
    direction = scale * direction
    for y, s, factor, weight in zip(changes, steps, factors, reversed(weights)):
        direction = direction + s * (weight - factor * (y @ direction))
    return direction


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [0, 1, 17, 100_003])
def test_vectors_of_lbfgs(n, dtype):
    rng = np.random.default_rng(0)
    gradient, *vectors = rng.standard_normal((7, n))
    vectors = [v / max(1, np.sqrt(n)) for v in vectors]
    arguments = vectors[:3], vectors[3:], [0.5, -0.25, 1.5], 0.7
    expected = two_loops(gradient, *arguments)
    ours = optim.lbfgs_direction(gradient.astype(dtype), *[[v.astype(dtype) for v in several] for several in arguments[:2]], *arguments[2:])
    np.testing.assert_allclose(ours, expected, rtol=1e-3 if dtype == "f4" else 1e-11, atol=1e-4 if dtype == "f4" else 1e-12)
    assert ours.dtype == dtype
    parts = [gradient[:n // 3].astype(dtype), np.zeros((0, 2), dtype), gradient[n // 3:].reshape(1, -1).astype(dtype)]
    whole = optim.joined(parts)
    np.testing.assert_array_equal(whole, gradient.astype(dtype))
    optim.add_parts_(parts, whole, -0.5)
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in parts]), whole / 2, rtol=1e-6)


def test_vectors_of_lbfgs_that_do_not_fit():
    good, frozen = np.ones(3, "f4"), np.ones(3, "f4")
    frozen.flags.writeable = False
    for arrays, vector, error in (([good], np.ones(4, "f4"), ValueError), ([good, frozen], np.ones(6, "f4"), ValueError),
                                  ([good], np.ones(3), TypeError), ([good, np.ones((2, 2), "f4").T[:1]], np.ones(5, "f4"), TypeError),
                                  ([np.ones(3, "i8")], np.ones(3, "i8"), TypeError)):
        with pytest.raises(error):
            optim.add_parts_(arrays, vector, 1.0)
    assert good.tolist() == [1, 1, 1]
    for arrays in ([], [good, np.ones(3)], [np.ones((2, 2), "f4")[:, :1]]):
        with pytest.raises(TypeError, match=r"joined\(\): expected"):
            optim.joined(arrays)
    for changes, steps, factors in (([good], [], [1.0]), ([good], [good], []), ([good], [np.ones(2, "f4")], [1.0])):
        with pytest.raises(ValueError, match="lbfgs_direction"):
            optim.lbfgs_direction(good, changes, steps, factors, 1.0)


@pytest.mark.parametrize("name", level.supported_levels())
def test_every_cpu_level(name):
    before = level.cpu_level()
    try:
        level.set_cpu_level(name)
        param, grad = sample((1000,), DTYPES[3], 0), sample((1000,), DTYPES[3], 1)
        expected = adam(0.01, 0.9, 0.99, 1e-8, 0.1, True, False, False, 1)(param, grad, 0, 0, 0)[0]
        optim.adam_step_([param], [grad], [np.zeros(1000)], [np.zeros(1000)], None, [np.array(0, "f4")], 0.01, 0.9, 0.99, 1e-8, 0.1, True, False, False)
        close(param, expected)
    finally:
        level.set_cpu_level(before)
