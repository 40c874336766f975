"""torch.fft, stft, istft and windows against PyTorch: values, shapes, dtypes, gradients and the classes of errors."""
import inspect
import itertools
import warnings

import numpy as np
import pytest

import pyx_tensor
import pyx_tensor.signal

torch = pytest.importorskip("torch")
KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


def outcome(lib, call):
    """(values, gradient) of a call on a real and on a complex signal, or the class of what it raised."""
    results = []
    for x in (lib.arange(1.0, 25.0, dtype=lib.float64).reshape(2, 3, 4).sin(), lib.arange(24).reshape(2, 3, 4)):
        for z in (x, x * (0.5 + 1j)):
            z = z.clone().requires_grad_(z.is_floating_point() or z.is_complex())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    y = call(lib, z)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
                results.append(type(error).__name__)
                continue
            if y.requires_grad:
                y.real.cos().sum().backward()
                results.append(z.grad.resolve_conj().numpy())
            results.append((str(y.dtype), y.detach().resolve_conj().numpy()))
    return results


def agree(call, doubly_wrong=False):
    """The same outcome; where a call is wrong in two ways, either error will do."""
    mine, theirs = outcome(pyx_tensor, call), outcome(torch, call)
    assert len(mine) == len(theirs)
    for m, t in zip(mine, theirs):
        if isinstance(t, tuple):
            assert m[0] == t[0]
            m, t = m[1], t[1]
        if isinstance(t, str):
            assert m == t or doubly_wrong and isinstance(m, str)
        else:
            np.testing.assert_allclose(m, t, rtol=2e-5, atol=2e-5 * max(1, np.abs(t).max(initial=0)))


@pytest.mark.parametrize("kind", KINDS)
def test_one_dim(kind):
    for n, dim, norm in itertools.product((None, 0, 1, 3, 7), (-1, 0, 3), (None, "ortho", "forward", "other")):
        agree(lambda lib, x: getattr(lib.fft, kind)(x, n, dim, norm))


@pytest.mark.parametrize("kind", KINDS)
def test_several_dims(kind):
    for s, dim in itertools.product((None, (3,), (2, 5), (-1, 4), (2, 2, 2, 2), (0, 1)), (None, (0,), (0, 2), (2, 1), (1, 1), (0, 4), ())):
        agree(lambda lib, x: getattr(lib.fft, kind + "n")(x, s, dim), dim == (0, 4))
        agree(lambda lib, x: getattr(lib.fft, kind + "2")(x, s, (0, 1) if dim is None else dim, norm="ortho"), dim == (0, 4))


@pytest.mark.parametrize("center, normalized, onesided, align", list(itertools.product((True, False), (True, False), (True, False, None), (None, True, False))))
def test_short_time(center, normalized, onesided, align):
    def there(lib, x, mode="reflect", hop=2, length=5, return_complex=True):
        window = lib.arange(1.0, length + 1, dtype=lib.float64) / length
        return lib.stft(x.reshape(2, 12), 6, hop, length, window, center, mode, normalized, onesided, return_complex, align)
    agree(there)
    agree(lambda lib, x: there(lib, x, "circular", 3, 6))
    agree(lambda lib, x: there(lib, x, "replicate", 0, 6, None))


@pytest.mark.parametrize("center, normalized, onesided, return_complex", list(itertools.product((True, False), (True, False), (True, False, None), (True, False))))
def test_inverse_short_time(center, normalized, onesided, return_complex):
    for bins, length, hop in ((4, None, 1), (6, 5, 2), (4, 20, 2), (3, None, 1)):
        agree(lambda lib, x: lib.istft(x.reshape(-1)[:12].reshape(2, 6)[:, :bins].repeat(1, 2)[:, :bins].T.contiguous(), 6, hop, 6,
                                       lib.arange(1.0, 7, dtype=lib.float64), center, normalized, onesided, length, return_complex))


@pytest.mark.parametrize("name", pyx_tensor.signal.windows.__all__)
def test_modern_windows(name):
    options = dict(a=[0.6, 0.3, 0.1]) if name == "general_cosine" else {}
    for n, sym in itertools.product((0, 1, 2, 5, 8), (True, False)):
        mine, theirs = (getattr(lib.signal.windows, name)(n, sym=sym, dtype=lib.float64, **options) for lib in (pyx_tensor, torch))
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)
    ours, published = (inspect.signature(getattr(lib.signal.windows, name)).parameters for lib in (pyx_tensor, torch))
    assert list(ours) == list(published) and all(ours[p].kind == published[p].kind for p in ours)


@pytest.mark.parametrize("name", ("hann", "hamming", "blackman", "bartlett", "kaiser"))
def test_windows(name):
    for n, periodic in itertools.product((0, 1, 2, 5, 8), (True, False)):
        mine, theirs = (getattr(lib, f"{name}_window")(n, periodic, dtype=lib.float64) for lib in (pyx_tensor, torch))
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)
