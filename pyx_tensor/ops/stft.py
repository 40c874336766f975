"""The short-time Fourier transform and its inverse."""
import warnings

from ..core.definitions import op
from ..core.signature import Raw, T
from .spectral import resized, transformable

_NO_WINDOW = ("A window was not provided. A rectangular window will be applied, which is known to cause spectral leakage. Other windows such as "
              "torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage. To suppress this warning and use a "
              "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.")


def _described(name, input, window, **arguments):
    """The call, as error messages show it."""
    arguments["window"] = None if window is None else f"torch.{window.dtype.name}{list(window.shape)}"
    return f"{name}(input of shape {list(input.shape)}, {', '.join(f'{key}={value}' for key, value in arguments.items())})"


def _check_device(name, input, window):
    if window is not None and window.device is not input.device:
        raise RuntimeError(f"{name} input and window must be on the same device but got self on {input.device} and window on {window.device}")


def _with_zeros(B, x, left, right):
    """Zeros on both sides of the last dim."""
    sides = [B.zeros((*x.shape[:-1], n), dtype=x.dtype, device=x.device) for n in (left, right)]
    return B.cat([sides[0], x, sides[1]], -1)


def _full_window(B, window, n_fft, like):
    """A window of the length of a frame: centred, with zeros on both sides; ones where none is given."""
    if window is None:
        return B.ones((n_fft,), dtype=like.dtype, device=like.device)
    missing = n_fft - window.shape[0]
    return _with_zeros(B, window, missing // 2, missing - missing // 2) if missing else window


# Padding mode: what comes before and after a signal x (batch, n), by `pad` values.
_SIDES = {
    "constant": lambda B, x, pad, n: [B.zeros((x.shape[0], pad), dtype=x.dtype, device=x.device)] * 2,
    "reflect": lambda B, x, pad, n: [B.flip(x[:, 1:pad + 1], (1,)), B.flip(x[:, n - pad - 1:n - 1], (1,))],
    "replicate": lambda B, x, pad, n: [B.expand(x[:, :1], (x.shape[0], pad)), B.expand(x[:, n - 1:], (x.shape[0], pad))],
    "circular": lambda B, x, pad, n: [x[:, n - pad:], x[:, :pad]],
}


def _extended(B, x, pad, mode):
    """`x` (batch, time) continued by `pad` values on both sides."""
    n = x.shape[1]
    if mode not in _SIDES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode == "reflect" and pad >= n or mode == "circular" and pad > n or not n:
        raise RuntimeError(f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({pad}, {pad}) at "
                           f"dimension 2 of input [1, {x.shape[0]}, {n}]")
    before, after = _SIDES[mode](B, x, pad, n)
    return B.cat([before, x, after], 1)


def _check_frames(what, length, n_fft, hop, win_length, window):
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{what}: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{what}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{what}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(f"{what}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
                           f"{list(window.shape)}")


def _is_complex(*tensors):
    return any(t is not None and t.dtype.is_complex for t in tensors)


def _check_onesided(onesided, is_complex):
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    return not is_complex if onesided is None else onesided


def _spectra(B, frames, power, onesided):
    """Transforms of the last dim."""
    frames, dims = transformable(frames), (frames.ndim - 1,)
    if onesided:
        return B._fft_r2c(frames, dims, power)
    return B._fft_c2c(frames, dims, power, True)


@op()
def stft(B, input: T, n_fft, hop_length=None, win_length=None, window: Raw = None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """The short-time Fourier transform: spectra of windowed frames of a signal.

    Args:
        input: (time) or (batch, time).
        n_fft: points of a frame. hop_length: from one frame to the next (n_fft // 4).
        win_length: points of the window (n_fft); it stands in the middle of the frame. window: its values; ones if missing.
        center: frame t is centred at t * hop_length, and the signal continued on both sides as `pad_mode` says.
        normalized: divide by sqrt(n_fft). onesided: only frequencies that aren't negative (the default for real signals).
        return_complex: True for a complex result, False for PyTorch's old form, real and imaginary parts in a last dim.
        align_to_window: without `center`, frames begin where the window begins.

    Returns:
        (batch, frequencies, frames), without the batch where the input has none.

    Raises:
        RuntimeError: sizes that don't fit, a one-sided result of complex numbers, `return_complex` missing for real ones, float16 or bfloat16.

    >>> import pyx_tensor as torch
    >>> spectra = torch.stft(torch.ones(8), 4, window=torch.ones(4), center=False, return_complex=True)
    >>> spectra.shape
    torch.Size([3, 5])
    >>> spectra[:, 0]
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    _check_device("stft", input, window)
    if window is None:
        warnings.warn(_NO_WINDOW, stacklevel=2)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    is_complex = _is_complex(input, window)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")
    what = _described("stft", input, window, n_fft=n_fft, hop_length=hop, win_length=win_length, normalized=normalized, onesided=onesided)
    if input.ndim > 2 or input.ndim == 0 and not center:
        raise RuntimeError(f"{what}: expected a 1D or 2D tensor")
    if not (input.dtype.is_floating_point or is_complex):
        raise RuntimeError(f"{what}: expected a tensor of floating point or complex values, got {input.dtype}")
    x = input if input.ndim == 2 else B.reshape(input, (1, -1))
    if center:
        x = _extended(B, x, n_fft // 2, pad_mode)
    _check_frames(what, x.shape[1], n_fft, hop, win_length, window)
    onesided = _check_onesided(onesided, is_complex)
    if align_to_window:
        missing = n_fft - win_length
        x = _with_zeros(B, x, missing // 2, missing - missing // 2)
    frames = B.unfold(x, 1, n_fft, hop)
    if window is not None:
        frames = B.mul(frames, _full_window(B, window, n_fft, x))
    spectra = B.transpose(_spectra(B, frames, 0.5 if normalized else 0, onesided), 1, 2)
    if input.ndim < 2:
        spectra = B.squeeze(spectra, 0)
    return spectra if return_complex in (True, None) else B.view_as_real(spectra)


def _check_spectra(what, input, n_fft, hop, win_length, window, onesided):
    bins = n_fft // 2 + 1 if onesided else n_fft
    if not input.numel():
        raise RuntimeError(f"{what}: input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{what}: expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    if input.shape[-2] != bins:
        raise RuntimeError(f"{what}: expected the frequency dimension (3rd to the last) of the input tensor to match "
                           f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {input.shape[-2]}")
    if not 0 < hop <= win_length:
        raise RuntimeError(f"{what}: expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{what}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(f"{what}: Invalid window shape. window has to be 1D and length of `win_length`")


def _overlap_add(B, frames, hop):
    """Frames (batch, frames, n_fft) summed where they overlap: (batch, time)."""
    n_fft = frames.shape[2]
    return B._overlapping_view_backward(frames, (frames.shape[0], n_fft + hop * (frames.shape[1] - 1)), "_unfold", (1, n_fft, hop))


def _kept(total, n_fft, center, length):
    """Where the signal begins and ends in what frames add up to."""
    start = n_fft // 2 if center else 0
    if length is not None:
        return start, min(start + length, total)
    return start, total - n_fft // 2 if center else total


@op()
def istft(B, input: T, n_fft, hop_length=None, win_length=None, window: Raw = None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The inverse of `stft`: the signal whose frames come nearest to the spectra (Griffin and Lim, 1984).

    Args:
        input: complex, (frequencies, frames) or (batch, frequencies, frames).
        onesided: `input` has only the frequencies that aren't negative; by default where it doesn't have n_fft of them.
        length: of the signal; filled up with zeros where the frames don't reach so far.
        return_complex: the signal is complex. The other arguments are those that `stft` had.

    Raises:
        RuntimeError: sizes that don't fit, or windows whose squares don't add up to more than 0 everywhere.

    >>> import pyx_tensor as torch
    >>> x, window = torch.arange(8.0), torch.hann_window(4)
    >>> back = torch.istft(torch.stft(x, 4, window=window, return_complex=True), 4, window=window)
    >>> torch.allclose(back, x, atol=1e-5)
    True
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    _check_device("istft", input, window)
    if not input.dtype.is_complex:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    what = _described("istft", input, window, n_fft=n_fft, hop_length=hop, win_length=win_length, center=center, normalized=normalized,
                      onesided=onesided, length=length, return_complex=return_complex)
    onesided = _check_onesided(input.shape[max(-2, -input.ndim)] != n_fft if onesided is None else onesided, return_complex)
    if not return_complex and _is_complex(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    _check_spectra(what, input, n_fft, hop, win_length, window, onesided)
    if window is None:
        warnings.warn(_NO_WINDOW, stacklevel=2)
    spectra = B.transpose(input if input.ndim == 3 else B.unsqueeze(input, 0), 1, 2)
    power = 0.5 if normalized else 1
    if return_complex:
        frames = B._fft_c2c(spectra, (2,), power, False)
    else:                   # of a real signal's spectra half is enough
        frames = B._fft_c2r(B.narrow(spectra, 2, 0, n_fft // 2 + 1), (2,), power, n_fft)
    window = _full_window(B, window, n_fft, frames)
    squares = B.expand(B.reshape(B.mul(window, window), (1, 1, n_fft)), (1, spectra.shape[1], n_fft))
    signal, weight = _overlap_add(B, B.mul(frames, window), hop), _overlap_add(B, squares, hop)
    start, end = _kept(signal.shape[1], n_fft, center, length)
    signal, weight = B.narrow(signal, 1, start, max(end - start, 0)), B.narrow(weight, 1, start, max(end - start, 0))
    if not weight.numel() or B.amin(B.abs(weight)).item() <= 1e-11:
        raise RuntimeError(f"{what}: window overlap add min: the squares of the windows must add up to more than 1e-11 everywhere")
    signal = B.div(signal, weight)
    if length is not None and length > signal.shape[1]:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
                      "Please check your center and hop_length settings.", stacklevel=2)
        signal = resized(B, signal, {1: length})
    return B.squeeze(signal, 0) if input.ndim == 2 else signal
