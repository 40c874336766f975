"""Jacobians, Hessians and their products with vectors, of functions from tensors to tensors."""
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from . import grad as grad_of
from .grad_mode import enable_grad

__all__ = ["jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"]


def _as_tuple(x, what, function):
    """(is it a tuple, the tuple); TypeError for what isn't tensors."""
    is_tuple = isinstance(x, (tuple, list))
    items = tuple(x) if is_tuple else (x,)
    for i, item in enumerate(items):
        if not isinstance(item, TensorBase):
            place = f"value at index {i} in the {what}" if is_tuple else what
            raise TypeError(f"The {place} given to {function} must be either a Tensor or a tuple of Tensors but got {type(item)}")
    return is_tuple, items


def _prepared(inputs, create_graph):
    """Inputs to differentiate by: views where the result shall be differentiable, else leaves of their own."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _plain(results, create_graph):
    return tuple(results) if create_graph else tuple(r.detach() for r in results)


def _call(func, inputs, create_graph, function):
    """The inputs to differentiate by and the outputs, as tuples, and whether each was given as one."""
    tuple_in, inputs = _as_tuple(inputs, "inputs", function)
    inputs = _prepared(inputs, create_graph)
    tuple_out, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    return tuple_in, inputs, tuple_out, outputs


def gradients(outputs, inputs, seeds, *, strict, create_graph, retain=True, what):
    """The gradients of `outputs`, zeros where there is none (an error where `strict`)."""
    pairs = [(o, s) for o, s in zip(outputs, seeds) if o.requires_grad]
    if strict and len(pairs) < len(outputs):
        raise RuntimeError(f"Output of the user-provided function is independent of all inputs. This is not allowed in strict mode ({what}).")
    found = [None] * len(inputs)
    if pairs:
        found = grad_of([o for o, _ in pairs], inputs, [s for _, s in pairs], retain_graph=retain, create_graph=create_graph, allow_unused=True)
    for i, g in enumerate(found):
        if g is None and strict:
            raise RuntimeError(f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode ({what}).")
    return [B.zeros_like(t.detach()) if g is None else g for g, t in zip(found, inputs)]


def _matched(v, tensors, what, function):
    """The vector(s) beside `tensors`; ones for a single element."""
    if v is None:
        if len(tensors) != 1 or tensors[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {what} a single element ({function})")
        return (B.ones_like(tensors[0].detach()),)
    _, v = _as_tuple(v, "v", function)
    if len(v) != len(tensors):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(tensors)} but got {len(v)}.")
    for i, (a, t) in enumerate(zip(v, tensors)):
        if a.shape != t.shape:
            raise RuntimeError(f"Entry {i} in v has invalid size: should be {t.shape} but got {a.shape}.")
    return v


def _unwrapped(results, is_tuple):
    return tuple(results) if is_tuple else results[0]


def _refuse_forward(strategy, vectorize):
    if strategy not in ("reverse-mode", None):
        raise NotImplementedError(f"strategy {strategy!r} isn't available: forward-mode derivatives aren't")
    return vectorize     # accepted; the rows are computed one by one all the same


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of a function: of shape (*output, *input), or nested tuples of such for tuples.

    Args:
        create_graph: is the result differentiable? strict: an error where an output doesn't depend on an input, instead of zeros.

    >>> import pyx_tensor as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _refuse_forward(strategy, vectorize)
    with enable_grad():
        tuple_in, inputs, tuple_out, outputs = _call(func, inputs, create_graph, "jacobian")
        rows = []
        for output in outputs:
            rows.append(jacobian_rows(output, inputs, create_graph, strict))
    results = [_unwrapped(_plain(blocks, create_graph), tuple_in) for blocks in rows]
    return _unwrapped(results, tuple_out)


def jacobian_rows(output, inputs, create_graph, strict):
    """One output's Jacobian with respect to each input."""
    count = output.numel()
    gathered = [[] for _ in inputs]
    for j in range(count):
        seed = B.zeros((count,), dtype=output.dtype, device=output.device)
        seed[j] = 1
        grads = gradients([output], inputs, [seed.view(output.shape)], strict=strict, create_graph=create_graph, what="jacobian")
        for rows, g in zip(gathered, grads):
            rows.append(g)
    return [B.stack(rows, 0).view((*output.shape, *t.shape)) if rows else B.zeros((*output.shape, *t.shape), dtype=t.dtype, device=t.device)
            for rows, t in zip(gathered, inputs)]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function with a single number as its result: of shape (*input, *input), or nested tuples of such.

    >>> import pyx_tensor as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    tuple_in, inputs = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*args):
        result = func(*args)
        _check_scalar(result, "hessian")
        grads = gradients([result], args, [B.ones_like(result.detach())], strict=strict, create_graph=True, what="hessian")
        return tuple(grads)

    blocks = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if tuple_in else blocks[0][0]


def _check_scalar(result, function):
    if not isinstance(result, TensorBase):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if result.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(the function's outputs, v times its Jacobian): v has the shape of the outputs, and may be left out for a single number."""
    with enable_grad():
        tuple_in, inputs, tuple_out, outputs = _call(func, inputs, create_graph, "vjp")
        v = _matched(v, outputs, "the user-provided function returns", "vjp")
        grads = gradients(outputs, inputs, v, strict=strict, create_graph=create_graph, what="vjp")
    return _unwrapped(_plain(outputs, create_graph), tuple_out), _unwrapped(_plain(grads, create_graph), tuple_in)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(the function's outputs, its Jacobian times v): v has the shape of the inputs. Two backward passes: the product is linear in
    the seed of the first, and the second differentiates by that seed."""
    with enable_grad():
        _, inputs, tuple_out, outputs = _call(func, inputs, create_graph, "jvp")
        v = _matched(v, inputs, "the input to the user-provided function is", "jvp")
        seeds = tuple(B.zeros_like(o.detach()).requires_grad_() for o in outputs)
        grads = gradients(outputs, inputs, seeds, strict=strict, create_graph=True, what="jvp")
        results = gradients(grads, seeds, v, strict=False, create_graph=create_graph, what="jvp")
    return _unwrapped(_plain(outputs, create_graph), tuple_out), _unwrapped(_plain(results, create_graph), tuple_out)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(the function's result, v times its Hessian), for a function with a single number as its result."""
    with enable_grad():
        tuple_in, inputs, _, outputs = _call(func, inputs, create_graph, "vhp")
        _check_scalar(outputs[0] if len(outputs) == 1 else outputs, "vhp")
        v = _matched(v, inputs, "the input to the user-provided function is", "vhp")
        grads = gradients(outputs, inputs, [B.ones_like(outputs[0].detach())], strict=strict, create_graph=True, what="vhp")
        products = gradients(grads, inputs, v, strict=strict, create_graph=create_graph, what="vhp")
    return _plain(outputs, create_graph)[0], _unwrapped(_plain(products, create_graph), tuple_in)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(the function's result, its Hessian times v), for a function with a single number as its result.

    Where the Hessian is symmetric, `vhp` gives the same with one backward pass less.
    """
    with enable_grad():
        tuple_in, inputs, _, outputs = _call(func, inputs, create_graph, "hvp")
        _check_scalar(outputs[0] if len(outputs) == 1 else outputs, "hvp")
        v = _matched(v, inputs, "the input to the user-provided function is", "hvp")
        grads = gradients(outputs, inputs, [B.ones_like(outputs[0].detach())], strict=strict, create_graph=True, what="hvp")
        seeds = tuple(B.zeros_like(t.detach()).requires_grad_() for t in inputs)
        double = gradients(grads, inputs, seeds, strict=strict, create_graph=True, what="hvp")
        products = gradients(double, seeds, v, strict=False, create_graph=create_graph, what="hvp")
    return _plain(outputs, create_graph)[0], _unwrapped(_plain(products, create_graph), tuple_in)
