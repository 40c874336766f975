"""Random tensors: PyTorch's stream (core/random.py), drawn on the host and brought to the tensor's device."""
import numpy as np

from ..core import overrides
from ..core import random as _stream
from ..core.definitions import creates, methods, op, publish_function
from ..core.device import make_device
from ..core.dtype import by_name, get_default_dtype, read_dtype
from ..core.functions import shown
from ..core.host_data import from_host, host_array
from ..core.making import new_filled, sizes_of
from ..core.operands import prepare_write
from ..core.protocol import allocating
from ..core.record import namespace as B
from ..core.signature import Raw, T
from ..core.tensor import TensorBase
from .creation import from_numpy
from .placement import CPU, device_or_default, laid_out, strides_for


class Generator(_stream.Generator):
    """A stream of pseudo-random numbers, PyTorch's for the same seed. Its state is a uint8 tensor.

    >>> import pyx_tensor as torch
    >>> g = torch.Generator().manual_seed(5000)
    >>> torch.randn(2, generator=g)
    tensor([1.2260, 0.7785])
    """

    def __init__(self, device="cpu"):
        device = make_device(device)
        super().__init__(device.type)
        self.device = device

    def get_state(self):
        """The state as a uint8 tensor of PyTorch's layout."""
        return from_numpy(super().get_state())

    def set_state(self, new_state):
        """Continue from a state that `get_state` (or PyTorch's) gave. Returns the generator."""
        if isinstance(new_state, TensorBase):
            if new_state.dtype.name != "uint8":
                raise TypeError(f"RNG state must be a torch.ByteTensor, got {new_state.dtype}")
            new_state = new_state.numpy()
        return super().set_state(new_state)


default_generator = Generator()
default_generator.seed()
_stream.default_generator = default_generator


@publish_function
def manual_seed(seed):
    """Start the default stream anew from `seed`; returns the default generator."""
    return default_generator.manual_seed(int(seed))


@publish_function
def seed():
    """Seed the default stream from the operating system; returns the seed."""
    return default_generator.seed()


@publish_function
def initial_seed():
    """The seed that the default stream was last started with."""
    return default_generator.initial_seed()


@publish_function
def get_rng_state():
    """The default generator's state as a uint8 tensor."""
    return default_generator.get_state()


@publish_function
def set_rng_state(new_state):
    """Continue the default stream from a state that `get_rng_state` gave."""
    default_generator.set_state(new_state)


def _checked(generator):
    if generator is None:
        return default_generator
    if not isinstance(generator, _stream.Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


# --- new tensors --------------------------------------------------------------------------------------------------
def _drawn(name, shape, draw, bounds, dtype, device, requires_grad, generator, out=None, strides=None):
    """A new tensor filled on the host by draw(generator, array, *bounds)."""
    dtype = read_dtype(name, dtype) or (out.dtype if out is not None else get_default_dtype())
    if strides is None:
        array = host_array(name, shape, dtype)
        _draw(name, draw, _checked(generator), array, bounds, dtype)
        return from_host(array, dtype, device, requires_grad, out)
    result = laid_out(shape, strides, lambda sizes: new_filled(sizes, None, dtype, CPU))
    _draw(name, draw, _checked(generator), result.array, bounds, dtype)
    result = result.to(device_or_default(device))
    result.requires_grad = requires_grad
    return result


def _draw(name, draw, generator, array, bounds, dtype):
    try:
        draw(generator, array, *bounds)
    except TypeError:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype}'") from None


def _sized(name, draw, meaning):
    def make(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **names):
        return _drawn(name, sizes_of(name, size, names.get("size")), draw, (), dtype, device, requires_grad, generator, out)

    def make_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
        if overrides.is_asked_about(input):
            return overrides.ask(make_like, (input,), (input,), dict(generator=generator, dtype=dtype, device=device, requires_grad=requires_grad))
        return _drawn(name, tuple(input.shape), draw, (), dtype or input.dtype, device or input.device, requires_grad, generator,
                      strides=strides_for(input, memory_format))
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of the given shape, drawn from {meaning}."
    make_like.__name__ = make_like.__qualname__ = name + "_like"
    make_like.__doc__ = f"A tensor of the shape, dtype and device of `input`, drawn from {meaning}."
    make, make_like = creates(make), creates(make_like)       # which handlers are asked about
    return make, make_like


rand, rand_like = _sized("rand", Generator.fill_uniform, "the uniform distribution on [0, 1)")
randn, randn_like = _sized("randn", Generator.fill_normal, "the standard normal distribution")


def _bounds(low, high):
    return (0, low) if high is None else (low, high)


@creates
def randint(low, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Integers of [low, high) (low is 0 where only one bound is given), int64 by default.

    Raises:
        RuntimeError: low isn't below high.
    """
    if size is None or isinstance(high, (tuple, list)):
        low, high, size = 0, low, high if size is None else size
    return _integers(low, high, sizes_of("randint", (size,), None), dtype or by_name["int64"], device, requires_grad, generator, out)


def _integers(low, high, shape, dtype, device, requires_grad, generator=None, out=None, strides=None):
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _drawn("randint", shape, Generator.fill_random, (low, high), dtype, device, requires_grad, generator, out, strides)


@creates
def randint_like(input, low, high=None, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Integers of [low, high), in the shape, dtype and device of `input`."""
    low, high = _bounds(low, high)
    return _integers(low, high, tuple(input.shape), dtype or input.dtype, device or input.device, requires_grad,
                     strides=strides_for(input, memory_format))


@creates
def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The integers 0 … n - 1 in random order."""
    dtype = read_dtype("randperm", dtype) or by_name["int64"]
    with allocating("randperm"):
        result = from_host(_checked(generator).randperm(n, dtype.numpy), dtype, device, requires_grad)
    return result if out is None else out.resize_(n).copy_(result)


@creates
def normal(mean=None, std=1.0, size=None, *, means=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Normal numbers: of one mean and deviation in the shape `size`, or element by element from tensors, in the dtype of the first.

    `means` is early PyTorch's word for `mean`.

    Raises:
        RuntimeError: a deviation is negative or NaN, or the tensors' shapes don't broadcast.
    """
    mean = means if mean is None else mean
    if mean is None:
        raise TypeError('normal() missing 1 required positional argument: "mean"')
    tensors = [x for x in (mean, std) if isinstance(x, TensorBase)]
    if isinstance(std, TensorBase):
        if not bool((std >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if not tensors:
        return _drawn("normal", sizes_of("normal", (size or (),), None), Generator.fill_normal, (mean, std), dtype, device, requires_grad, generator, out)
    shape, dtype = tuple(B.broadcast_shapes(*[t.shape for t in tensors])), tensors[0].dtype
    noise = _drawn("normal", shape, Generator.fill_normal, (), dtype, tensors[0].device, False, generator)
    result = (noise * std + mean).to(dtype)
    return result if out is None else out.resize_(shape).copy_(result)


def _host(tensor):
    return np.asarray(tensor.detach()._host_array(), order="C")


@op(vjp=dict(input=lambda B, g: B.zeros_like(g)))
def bernoulli(B, input: Raw, p=None, *, generator=None):
    """Zeros and ones: one with the probability that each element gives (or all the same, `p`)."""
    generator = _checked(generator)
    if p is not None:
        return B.empty_like(input).bernoulli_(p, generator=generator)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{input.dtype}'")
    probabilities = _host(input)
    drawn = host_array("bernoulli", probabilities.shape, input.dtype)
    generator.fill_bernoulli_array(drawn, probabilities)
    return from_host(drawn, input.dtype, input.device)


@op(nograd=True)
def multinomial(B, input: Raw, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the weights in the rows of `input`, `num_samples` per row."""
    return B.from_numpy(_checked(generator).multinomial(_host(input), num_samples, replacement)).to(input.device)


@op(nograd=True)
def poisson(B, input: Raw, generator=None):
    """Poisson numbers with the rates that `input` gives."""
    return B.from_numpy(np.asarray(_checked(generator).poisson(_host(input)))).to(input.device)


@op(nograd=True, method=False)
def binomial(B, count: Raw, prob: Raw, generator=None):
    """How many of `count` trials succeed, each with the probability `prob`: floating-point tensors of one dtype that broadcast.

    Raises:
        ValueError: `count` isn't of a floating-point dtype.
        RuntimeError: `prob` is of another dtype.
    """
    if not count.dtype.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {count.dtype}")
    if prob.dtype is not count.dtype:
        raise RuntimeError(f"binomial(): expected argument 'prob' of dtype {count.dtype}, found {prob.dtype}")
    wide = by_name["float64" if count.dtype.name == "float64" else "float32"].numpy
    counts, chances = np.broadcast_arrays(*[np.asarray(_host(x), wide) for x in (count, prob)])
    return B.from_numpy(np.asarray(_checked(generator).binomial(counts, chances))).to(count.dtype).to(count.device)


def empty_in_order_of(input, **options):
    """A tensor of the input's shape whose elements lie in the same order in memory, if the input's are dense; masks are drawn in that order."""
    if input.is_contiguous():
        return B.empty(tuple(input.shape), **options)
    order = sorted(range(input.ndim), key=lambda d: -input.stride(d))
    dense = input.permute(order)
    if not dense.is_contiguous():
        return B.empty(tuple(input.shape), **options)
    return B.empty(tuple(dense.shape), **options).permute(sorted(range(input.ndim), key=order.__getitem__))


@op(hidden=True, vjp=dict(input=lambda B, g, mask, scale: B.mul(B.mul(g, mask), scale)))
def _masked_scale(B, input: T, mask: Raw, scale):
    """`input * mask * scale`."""
    return B.mul(B.mul(input, mask), scale)


@op(inplace=True)
def dropout(B, input: T, p, train):
    """Zeros with probability p, the rest scaled by 1 / (1 - p); the input itself where `train` is False."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype}: dropout scales elements")
    if p == 1:
        return B.mul(input, B.zeros((), dtype=input.dtype, device=input.device))
    mask = empty_in_order_of(input, dtype=by_name["bool"], device="cpu")
    default_generator.fill_bernoulli(mask.array, 1 - p)
    return B._masked_scale(input, mask.to(input.device), 1 / (1 - p))


# --- filling in place ---------------------------------------------------------------------------------------------
def _filler(name, meaning, arguments, draw):
    """A method that fills the tensor: draw(generator, array, *arguments)."""
    names = [a.split("=")[0] for a in arguments]
    defaults = {a.split("=")[0]: eval(a.split("=")[1]) for a in arguments if "=" in a}  # noqa: S307 (literals above)
    usual = tuple(defaults.values()) if len(defaults) == len(names) else None

    def fill(self, *args, generator=None, **keywords):
        if usual is not None and not args and not keywords:
            return fill_from_host(self, name, draw, usual, generator)
        given = {**defaults, **dict(zip(names, args)), **keywords}
        unknown = set(given) - set(names)
        if unknown or len(args) > len(names) or len(given) < len(names):
            raise TypeError(f"{name}() takes the arguments {', '.join(arguments)}; got {args} and {keywords}")
        return fill_from_host(self, name, draw, [given[n] for n in names], generator)
    fill.__name__ = fill.__qualname__ = name
    fill.__doc__ = f"Fill with {meaning}; returns the tensor. Arguments: {', '.join(arguments)}."
    methods[name] = shown(fill)


def fill_from_host(tensor, name, draw, arguments, generator):
    """Fill a tensor with what draw(generator, ndarray, *arguments) writes, in its own memory where that is an ndarray."""
    generator = _checked(generator)
    prepare_write(tensor)
    if tensor.device.type == "cpu":
        _draw(name, draw, generator, tensor.array, arguments, tensor.dtype)
        if tensor.requires_grad or tensor._base is not None and tensor._base.requires_grad:
            B._assign_(tensor, B.clone(tensor.detach()))       # the graph forgets what stood there
        return tensor
    array = np.empty(tuple(tensor.shape), tensor.dtype.numpy)
    _draw(name, draw, generator, array, arguments, tensor.dtype)
    return tensor.copy_(from_numpy(array))


def _fill_bernoulli(generator, array, p):
    if isinstance(p, TensorBase):
        generator.fill_bernoulli_array(array, np.ascontiguousarray(np.broadcast_to(_host(p), array.shape)))
    else:
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        generator.fill_bernoulli(array, p)


_filler("uniform_", "numbers of [from, to)", ("from=0.0", "to=1.0"), Generator.fill_uniform)
_filler("normal_", "normal numbers", ("mean=0.0", "std=1.0"), Generator.fill_normal)
_filler("log_normal_", "log-normal numbers", ("mean=1.0", "std=2.0"), Generator.fill_log_normal)
_filler("exponential_", "exponential numbers", ("lambd=1.0",), Generator.fill_exponential)
_filler("cauchy_", "Cauchy numbers", ("median=0.0", "sigma=1.0"), Generator.fill_cauchy)
_filler("geometric_", "geometric numbers", ("p",), Generator.fill_geometric)
_filler("bernoulli_", "zeros and ones", ("p=0.5",), _fill_bernoulli)


def random_(self, low=None, high=None, *, generator=None, **names):
    """Fill with integers of [low, high); with one bound of [0, bound), with none up to the largest of the dtype."""
    low, high = names.get("from", low), names.get("to", high)
    if low is not None and high is None and "from" not in names:
        low, high = 0, low
    return fill_from_host(self, "random_", Generator.fill_random, (low, high), generator)


methods["random_"] = shown(random_)
