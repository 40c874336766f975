"""torch.fft, stft, istft and the windows, against NumPy's transforms and sums worked out here."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck, gradgradcheck

KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
REAL_INPUT = ("rfft", "ihfft")
NORMS = (None, "backward", "ortho", "forward")
DEVICES = ("cpu", "reference")


def values(kind, *shape, dtype="float64"):
    random = np.random.default_rng(7)
    real = random.standard_normal(shape)
    is_complex = kind.rstrip("2n") not in REAL_INPUT
    array = real + 1j * random.standard_normal(shape) if is_complex else real
    precise = {"float32": np.complex64, "float64": np.complex128}[dtype] if is_complex else getattr(np, dtype)
    return array.astype(precise)


def close(ours, expected, rtol=1e-6):
    assert tuple(ours.shape) == expected.shape
    np.testing.assert_allclose(ours.detach().cpu().numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_dim(kind, norm, device):
    for n, dim in ((None, -1), (5, -1), (9, 0), (4, 1)):
        x = values(kind, 6, 7)
        ours = getattr(torch.fft, kind)(torch.from_numpy(x).to(device), n=n, dim=dim, norm=norm)
        close(ours, getattr(np.fft, kind)(x, n, dim, norm), 1e-12)
        assert ours.device.type == device


@pytest.mark.parametrize("kind", ("fft", "ifft", "rfft", "irfft"))
def test_several_dims(kind):
    x = values(kind, 3, 4, 5)
    t = torch.from_numpy(x)
    close(getattr(torch.fft, kind + "2")(t), getattr(np.fft, kind + "2")(x), 1e-12)
    close(getattr(torch.fft, kind + "n")(t), getattr(np.fft, kind + "n")(x), 1e-12)
    close(getattr(torch.fft, kind + "n")(t, dim=(2, 0)), getattr(np.fft, kind + "n")(x, axes=(2, 0)), 1e-12)
    close(getattr(torch.fft, kind + "n")(t, s=(2, 6)), getattr(np.fft, kind + "n")(x, s=(2, 6), axes=(1, 2)), 1e-12)
    close(getattr(torch.fft, kind + "n")(t, s=(-1, 6), dim=(0, 1), norm="ortho"), getattr(np.fft, kind + "n")(x, s=(3, 6), axes=(0, 1), norm="ortho"), 1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_over_several_dims(norm):
    x = torch.from_numpy(values("hfft", 3, 4, 5))
    close(torch.fft.hfftn(x, dim=(0, 2), norm=norm), torch.fft.hfft(torch.fft.fft(x, dim=0, norm=norm), dim=2, norm=norm).numpy(), 1e-12)
    close(torch.fft.hfft2(x, norm=norm), torch.fft.hfft(torch.fft.fft(x, dim=1, norm=norm), dim=2, norm=norm).numpy(), 1e-12)
    real = torch.from_numpy(values("ihfft", 3, 4, 5))
    close(torch.fft.ihfftn(real, dim=(0, 2), norm=norm), torch.fft.ifft(torch.fft.ihfft(real, dim=2, norm=norm), dim=0, norm=norm).numpy(), 1e-12)
    close(torch.fft.ihfft2(real, norm=norm), torch.fft.ifft(torch.fft.ihfft(real, dim=2, norm=norm), dim=1, norm=norm).numpy(), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ("", "2", "n"))
def test_dtypes_layout_and_out(kind, form):
    function, x = getattr(torch.fft, kind + form), values(kind, 4, 6, dtype="float32")
    ours = function(torch.from_numpy(x))
    assert ours.dtype in (torch.float32, torch.complex64)
    scattered = torch.from_numpy(np.repeat(x.T, 2, axis=0))[::2].T
    assert not scattered.is_contiguous()
    close(function(scattered), ours.numpy())
    out = torch.empty(0, dtype=ours.dtype)
    assert function(torch.from_numpy(x), out=out) is out
    close(out, ours.numpy())
    whole = function(torch.arange(6).reshape(2, 3))
    close(whole, function(torch.arange(6.0).reshape(2, 3)).numpy())
    assert function(torch.zeros(0, 5), **({} if form == "" else {"dim": (1,)})).shape[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_with_and_without_scipy(kind, monkeypatch):
    """The CPU backend transforms by SciPy where it can, else by NumPy."""
    from pyx_tensor_cpu import fourier
    x = torch.from_numpy(values(kind, 3, 4, 5, dtype="float32"))
    before = [getattr(torch.fft, kind)(x), getattr(torch.fft, kind + "n")(x, s=(5, 3), norm="ortho")]
    monkeypatch.setattr(fourier, "scipy_fft", lambda: None)
    for a, b in zip(before, (getattr(torch.fft, kind)(x), getattr(torch.fft, kind + "n")(x, s=(5, 3), norm="ortho"))):
        assert a.dtype is b.dtype
        close(a, b.numpy(), 1e-5)


def test_a_scalar_has_no_dims_to_transform():
    assert torch.fft.fftn(torch.tensor(2.0)).item() == 2
    assert torch.fft.ifftn(torch.ones(2), dim=()).tolist() == [1, 1]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, norm):
    for n in (None, 3, 6, 7):
        x = torch.from_numpy(values(kind, 2, 5)).requires_grad_()
        assert gradcheck(lambda t: getattr(torch.fft, kind)(t, n=n, norm=norm), (x,))
    x = torch.from_numpy(values(kind, 2, 3, 4)).requires_grad_()
    assert gradcheck(lambda t: getattr(torch.fft, kind + "n")(t, s=(4, 3), norm=norm), (x,))
    assert gradcheck(lambda t: getattr(torch.fft, kind + "2")(t, dim=(2, 0), norm=norm), (x,))
    assert gradgradcheck(lambda t: getattr(torch.fft, kind + "n")(t, norm=norm), (torch.from_numpy(values(kind, 2, 3)).requires_grad_(),))


def test_a_real_input_gets_a_real_gradient():
    x = torch.arange(4.0, requires_grad=True)
    torch.fft.fft(x).real.sum().backward()
    assert x.grad.tolist() == [4, 0, 0, 0]


def test_shifts_and_frequencies():
    x = np.arange(15.0).reshape(3, 5)
    t = torch.from_numpy(x)
    for dim in (None, 0, (0, 1), -1):
        close(torch.fft.fftshift(t, dim), np.fft.fftshift(x, dim))
        close(torch.fft.ifftshift(t, dim), np.fft.ifftshift(x, dim))
    for n in (1, 4, 5):
        close(torch.fft.fftfreq(n, 0.5, dtype=torch.float64), np.fft.fftfreq(n, 0.5))
        close(torch.fft.rfftfreq(n, 0.5, dtype=torch.float64), np.fft.rfftfreq(n, 0.5))
    assert torch.fft.fftfreq(0).shape == (0,) and torch.fft.rfftfreq(0).shape == (1,)
    assert gradcheck(torch.fft.fftshift, (t.requires_grad_(),))


@pytest.mark.parametrize("call, error, message", [
    (lambda x: torch.fft.fft(x, n=0), RuntimeError, r"Invalid number of data points \(0\)"),
    (lambda x: torch.fft.fft(x, n=2.0), TypeError, "'n' must be int, not float"),
    (lambda x: torch.fft.fft(x, dim=2), IndexError, r"range of \[-2, 1\], but got 2"),
    (lambda x: torch.fft.fft(x[0, 0]), IndexError, "no dimensions"),
    (lambda x: torch.fft.fft(x, norm="sum"), RuntimeError, "normalization mode: \"sum\""),
    (lambda x: torch.fft.fft(x, norm=1), TypeError, "'norm' must be str, not int"),
    (lambda x: torch.fft.fft(x.half()), RuntimeError, "Unsupported dtype"),
    (lambda x: torch.fft.fft([1.0]), TypeError, "'input' must be Tensor, not list"),
    (lambda x: torch.fft.fft(x[:, :0]), RuntimeError, "data points"),
    (lambda x: torch.fft.irfft(x[:, :1]), RuntimeError, "data points"),
    (lambda x: torch.fft.rfft(x + 0j), RuntimeError, "rfft expects a real input"),
    (lambda x: torch.fft.ihfftn(x + 0j), RuntimeError, "ihfftn expects a real input"),
    (lambda x: torch.fft.fftn(x, dim=(0, -2)), RuntimeError, "unique"),
    (lambda x: torch.fft.fftn(x, s=(2,), dim=(0, 1)), RuntimeError, "same length"),
    (lambda x: torch.fft.fftn(x, s=(2, 2, 2)), RuntimeError, "Got shape with 3 values but input tensor only has 2 dimensions"),
    (lambda x: torch.fft.rfftn(x, dim=()), RuntimeError, "rfftn must transform at least one axis"),
    (lambda x: torch.fft.hfft2(x, dim=()), RuntimeError, "hfftn must transform at least one axis"),
    (lambda x: torch.fft.fftfreq(-1), RuntimeError, "negative dimension"),
    (lambda x: torch.fft.fftfreq(3, dtype=torch.int64), RuntimeError, "floating point"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.ones(4, 5))


# --- short-time transforms ----------------------------------------------------------------------------------------
def spectra(x, n_fft, hop, window):
    """Frames of a signal one after the other, by the definition of the transform."""
    n = np.arange(n_fft)
    basis = np.exp(-2j * np.pi * np.outer(np.arange(n_fft // 2 + 1), n) / n_fft)
    return np.stack([basis @ (x[start:start + n_fft] * window) for start in range(0, len(x) - n_fft + 1, hop)], axis=1)


@pytest.mark.parametrize("device", DEVICES)
def test_stft_values(device):
    x, window = np.random.default_rng(3).standard_normal(30), np.hanning(8)
    t, w = torch.from_numpy(x).to(device), torch.from_numpy(window).to(device)
    close(torch.stft(t, 8, 3, window=w, center=False, return_complex=True), spectra(x, 8, 3, window), 1e-12)
    for mode, numpys in (("reflect", "reflect"), ("constant", "constant"), ("replicate", "edge"), ("circular", "wrap")):
        close(torch.stft(t, 8, 3, window=w, pad_mode=mode, return_complex=True), spectra(np.pad(x, 4, mode=numpys), 8, 3, window), 1e-12)
    short = torch.stft(t, 8, 3, 5, window=w[:5], center=False, normalized=True, return_complex=True)
    close(short, spectra(x, 8, 3, np.pad(window[:5], (1, 2))) / np.sqrt(8), 1e-12)
    two_sided = torch.stft(t + 0j, 8, 3, window=w, center=False)
    close(two_sided[:5], spectra(x, 8, 3, window), 1e-12)
    batch = t.stft(8, window=w, return_complex=True).expand(2, -1, -1)
    close(torch.stft(torch.stack([t, t]), 8, window=w, return_complex=True), batch.cpu().numpy(), 1e-12)
    parts = torch.stft(t, 8, 3, window=w, center=False, return_complex=False)
    close(torch.view_as_complex(parts.contiguous()), spectra(x, 8, 3, window), 1e-12)
    aligned = torch.stft(t, 8, 3, 4, window=w[:4], center=False, return_complex=True, align_to_window=True)
    close(aligned, spectra(np.pad(x, 2), 8, 3, np.pad(window[:4], 2)), 1e-12)


@pytest.mark.parametrize("options", [dict(), dict(normalized=True), dict(onesided=False), dict(hop_length=3), dict(win_length=6)])
def test_istft_undoes_stft(options):
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((2, 48)))
    window = torch.hann_window(options.get("win_length", 8), dtype=torch.float64)
    there = torch.stft(x, 8, window=window, return_complex=True, **options)
    close(torch.istft(there, 8, window=window, length=48, **options), x.numpy(), 1e-12)
    close(torch.istft(there[0], 8, window=window, **options)[:40], x[0, :40].numpy(), 1e-12)
    z = x + 1j * x.flip(1)
    options.pop("onesided", None)
    there = torch.stft(z, 8, window=window, **options)
    close(torch.istft(there, 8, window=window, length=48, return_complex=True, **options), z.numpy(), 1e-12)


def test_short_time_gradients():
    x = torch.from_numpy(np.random.default_rng(3).standard_normal(14)).requires_grad_()
    window = (torch.hann_window(6, dtype=torch.float64) + 0.1).requires_grad_()
    assert gradcheck(lambda x, w: torch.stft(x, 6, 2, window=w, return_complex=True), (x, window))
    there = torch.stft(x, 6, 2, window=window, return_complex=True).detach().requires_grad_()
    assert gradcheck(lambda s, w: torch.istft(s, 6, 2, window=w), (there, window))
    assert gradgradcheck(lambda s: torch.istft(s, 6, 2, window=window.detach()), (there,))


def test_short_time_warnings():
    x, window = torch.arange(20.0), torch.ones(8)
    with pytest.warns(UserWarning, match="rectangular window"):
        there = torch.stft(x, 8, return_complex=True)
    with pytest.warns(UserWarning, match="padded with zeros"):
        back = torch.istft(there, 8, window=window, length=30)
    close(back[:20], np.arange(20, dtype=np.float32), 1e-5)
    assert back.shape == (30,) and not back[24:].any()      # the frames reach four values further, into the padding


@pytest.mark.parametrize("call, error, message", [
    (lambda x, w: torch.stft(x, 8, window=w), RuntimeError, "return_complex parameter be given"),
    (lambda x, w: torch.stft(x, 40, window=w, center=False, return_complex=True), RuntimeError, "n_fft=40"),
    (lambda x, w: torch.stft(x, 8, hop_length=0, window=w, return_complex=True), RuntimeError, "hop_length=0"),
    (lambda x, w: torch.stft(x, 8, win_length=9, window=w, return_complex=True), RuntimeError, "win_length=9"),
    (lambda x, w: torch.stft(x, 8, window=w[1:], return_complex=True), RuntimeError, r"window with size \[7\]"),
    (lambda x, w: torch.stft(x.reshape(1, 1, -1), 8, window=w, return_complex=True), RuntimeError, "1D or 2D"),
    (lambda x, w: torch.stft(x.long(), 8, window=w, return_complex=True), RuntimeError, "floating point"),
    (lambda x, w: torch.stft(x.half(), 8, window=w.half(), return_complex=True), RuntimeError, "Unsupported dtype"),
    (lambda x, w: torch.stft(x.bfloat16(), 8, window=w.bfloat16(), onesided=False, return_complex=True), RuntimeError, "Unsupported dtype"),
    (lambda x, w: torch.stft(x, 8, window=w, onesided=True, return_complex=True) if x.is_complex() else torch.stft(x + 0j, 8, window=w, onesided=True),
     RuntimeError, "Cannot have onesided output"),
    (lambda x, w: torch.stft(x, 8, window=w, pad_mode="mirror", return_complex=True), NotImplementedError, "mirror"),
    (lambda x, w: torch.stft(x[:4], 8, window=w, return_complex=True), RuntimeError, "Padding size"),
    (lambda x, w: torch.stft(x, 8, window=w, align_to_window=True, return_complex=True), RuntimeError, "align_to_window"),
    (lambda x, w: torch.istft(x, 8, window=w), RuntimeError, "complex-valued input"),
    (lambda x, w: torch.istft(x.reshape(4, 5) + 0j, 8, window=w), RuntimeError, "frequency dimension"),
    (lambda x, w: torch.istft(x.reshape(5, 4) + 0j, 8, window=w, hop_length=9), RuntimeError, "hop_length"),
    (lambda x, w: torch.istft(x.reshape(5, 4) + 0j, 8, window=w[1:]), RuntimeError, "Invalid window shape"),
    (lambda x, w: torch.istft(x.reshape(5, 4) + 0j, 8, window=w, center=False), RuntimeError, "window overlap add"),
    (lambda x, w: torch.istft(x.reshape(5, 4) + 0j, 8, window=w + 0j), RuntimeError, "Complex windows"),
    (lambda x, w: torch.istft(x[:0].reshape(0, 4) + 0j, 8, window=w), RuntimeError, "cannot be empty"),
    (lambda x, w: torch.istft(x + 0j, 8, window=w), RuntimeError, "2 or 3 dimensions|frequency dimension"),
])
def test_short_time_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.arange(20.0), torch.hann_window(8))


# --- windows ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, numpys", [("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman), ("bartlett", np.bartlett),
                                          ("kaiser", lambda n: np.kaiser(n, 12.0))])
def test_windows(name, numpys):
    function, modern = getattr(torch, f"{name}_window"), getattr(torch.signal.windows, name)
    for n in (1, 2, 7, 8):
        close(function(n, periodic=False, dtype=torch.float64), numpys(n), 1e-12)
        close(function(n, dtype=torch.float64), numpys(n + 1)[:-1] if n > 1 else np.ones(1), 1e-12)
        close(modern(n, dtype=torch.float64), numpys(n), 1e-12)
        close(modern(n, sym=False, dtype=torch.float64), numpys(n + 1)[:-1] if n > 1 else np.ones(1), 1e-12)
    assert function(0).shape == (0,) and modern(0).shape == (0,)
    assert function(3).dtype is torch.float32 and function(3, dtype=torch.float16).dtype is torch.float16
    assert function(3, requires_grad=True).requires_grad and function(3, device="reference").device.type == "reference"
    for bad in (lambda: function(-1), lambda: function(3, dtype=torch.int64)):
        with pytest.raises(RuntimeError, match=f"{name}_window"):
            bad()
    with pytest.raises(TypeError, match="must be int, not float"):
        function(2.5)


def test_modern_windows():
    W, at = torch.signal.windows, np.arange(5)
    close(W.cosine(5, dtype=torch.float64), np.sin(np.pi * (at + 0.5) / 5))
    close(W.cosine(5, sym=False, dtype=torch.float64), np.sin(np.pi * (at + 0.5) / 6))
    close(W.gaussian(5, std=2.0, dtype=torch.float64), np.exp(-0.5 * ((at - 2) / 2) ** 2))
    close(W.exponential(5, tau=3.0, dtype=torch.float64), np.exp(-np.abs(at - 2) / 3))
    close(W.exponential(5, center=1, tau=3.0, sym=False, dtype=torch.float64), np.exp(-np.abs(at - 1) / 3))
    close(W.general_cosine(5, a=[0.7, 0.3], dtype=torch.float64), 0.7 - 0.3 * np.cos(2 * np.pi * at / 4))
    close(W.general_hamming(5, alpha=0.7, dtype=torch.float64), 0.7 - 0.3 * np.cos(2 * np.pi * at / 4))
    assert W.nuttall(5)[2].item() == pytest.approx(1)


@pytest.mark.parametrize("call, error", [
    (lambda W: W.hann(-1), ValueError), (lambda W: W.hann(5, dtype=torch.float16), ValueError), (lambda W: W.exponential(5, tau=0), ValueError),
    (lambda W: W.exponential(5, center=1.0), ValueError), (lambda W: W.gaussian(5, std=0), ValueError), (lambda W: W.kaiser(5, beta=-1), ValueError),
    (lambda W: W.general_cosine(5, a=3), TypeError), (lambda W: W.general_cosine(5, a=[]), ValueError), (lambda W: W.hann(2.5), TypeError)])
def test_modern_windows_refuse(call, error):
    with pytest.raises(error):
        call(torch.signal.windows)
