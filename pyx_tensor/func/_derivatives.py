"""Derivatives of functions, as functions again: gradients, products with Jacobians, Jacobians, Hessians.

A transform differentiates by tensors of its own, in whose place a function computes: leaves, or views where the argument itself is recorded, by an
outer transform or because it requires grad. Its results stay in the graph where something but these leaves is in it ("tracked"), so that transforms
nest and gradients flow through them; else they are plain.
"""
from functools import wraps

from ..autograd.functional import gradients, jacobian_rows
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from . import _trees as trees


def _own(tree, outer, transform):
    """Tensors to differentiate by, in the place of those of a tree."""
    for t in trees.leaves(tree):
        if not isinstance(t, TensorBase):
            raise ValueError(f"{transform}: expected the arguments to differentiate by to be Tensors or nested tuples, lists and dicts of them, but got "
                             f"{type(t)}")
    return trees.like(tree, [t.view_as(t) if outer and t.requires_grad else t.detach().requires_grad_() for t in trees.leaves(tree)])


def _are_tracked(outputs, own):
    """Whether the outputs depend on a leaf that isn't one of `own`."""
    leaves = {id(t) for t in own if t.is_leaf}
    nodes = [t.grad_fn for t in outputs if t.grad_fn is not None]
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in leaves:
            return True
        following = {entry[0] for entry in node.next_functions if entry[0] is not None} - seen
        seen |= following
        nodes.extend(following)
    return any(t.requires_grad and t.is_leaf and id(t) not in leaves for t in outputs)


def _settled(tree, tracked):
    """Results outside of the graph unless they are tracked."""
    return tree if tracked else trees.like(tree, [t.detach() if isinstance(t, TensorBase) else t for t in trees.leaves(tree)])


def _picked(args, argnums, transform):
    """The argument(s) to differentiate by."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers:
        raise RuntimeError(f"{transform}: argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"{transform}: argnums must be int or Tuple[int, ...], got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    if len({number % len(args) for number in numbers}) < len(numbers):
        raise RuntimeError(f"{transform}: argnums elements must be unique, but got {argnums}")
    return tuple(args[number] for number in numbers) if isinstance(argnums, tuple) else args[argnums]


def _with(args, argnums, own):
    """The arguments with those of `argnums` replaced."""
    args = list(args)
    for number, value in zip(argnums, own) if isinstance(argnums, tuple) else [(argnums, own)]:
        args[number] = value
    return args


def _output_and_aux(result, has_aux, transform):
    if not has_aux:
        return result, ()
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{transform}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _tensors(output, transform):
    """The leaves of a function's output, tensors all."""
    found = trees.leaves(output)
    if not found:
        raise RuntimeError(f"{transform}: expected f to return at least one Tensor, but got {output!r}")
    for t in found:
        if not isinstance(t, TensorBase):
            raise RuntimeError(f"{transform}: expected f to only return Tensors, got unsupported type {type(t)}")
    return found


def _evaluated(func, args, kwargs, argnums, has_aux, transform):
    """(own tensors as a tree, output, aux, whether results are tracked) of a call that is recorded."""
    outer = is_grad_enabled()
    own = _own(_picked(args, argnums, transform), outer, transform)
    with enable_grad():
        output, aux = _output_and_aux(func(*_with(args, argnums, own), **kwargs), has_aux, transform)
    tracked = outer and _are_tracked([t for t in trees.leaves((output, aux)) if isinstance(t, TensorBase)], trees.leaves(own))
    return own, output, aux, tracked


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives (gradient, value) of a function whose result is a single number; arguments as for `grad`."""
    @wraps(func)
    def wrapper(*args, **kwargs):
        own, output, aux, tracked = _evaluated(func, args, kwargs, argnums, has_aux, "grad_and_value")
        if not isinstance(output, TensorBase):
            raise RuntimeError(f"Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(f"Expected f(*args) to return a scalar tensor, got tensor with {output.ndim} dims. Maybe you wanted to use the vjp or "
                               "jacrev APIs instead?")
        with enable_grad():
            found = gradients([output], trees.leaves(own), [B.ones_like(output.detach())], strict=False, create_graph=tracked, retain=tracked or None,
                              what="grad")
        value = _settled(output, tracked)
        return trees.like(own, found), (value, _settled(aux, tracked)) if has_aux else value
    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of a function whose result is a single number.

    Args:
        func: takes tensors, also in nested tuples, lists and dicts, and returns a 0-dim tensor.
        argnums: which argument to differentiate by, or a tuple of several: the result has its form, or is a tuple.
        has_aux: `func` returns (number, anything), and the result is (gradient, anything).

    >>> import pyx_tensor as torch
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.))
    tensor(12.)

    Raises:
        RuntimeError: the result isn't a 0-dim tensor, or `argnums` names no argument.
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapper


def _checked_tangents(given, expected, what, transform):
    """The leaves of `given`, which has the form and shapes of `expected`."""
    if not trees.same_form(given, expected):
        raise RuntimeError(f"{transform}: expected {what} to have the same structure (nested tuples, lists and dicts) as what they belong to")
    for value, t in zip(trees.leaves(given), trees.leaves(expected)):
        if not isinstance(value, TensorBase) or value.shape != t.shape:
            shape = list(value.shape) if isinstance(value, TensorBase) else type(value)
            raise RuntimeError(f"{transform}: expected {what} of shape {list(t.shape)}, got {shape}")
    return trees.leaves(given)


def vjp(func, *primals, has_aux=False):
    """(output, function): the function gives a vector (of the output's shape) times the Jacobian, for one argument or as a tuple for several.

    >>> import pyx_tensor as torch
    >>> output, pullback = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pullback(torch.tensor([1., 2.]))
    (tensor([1., 2.]),)
    """
    own, output, aux, tracked = _evaluated(func, primals, {}, tuple(range(len(primals))), has_aux, "vjp")
    outputs = _tensors(output, "vjp")

    def pullback(*cotangents, retain_graph=True, create_graph=None):
        """`cotangents` times the Jacobian: one for a single output, else as many as there are, or one tree of them."""
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds = _checked_tangents(given, output, "cotangents", "vjp")
        recorded = is_grad_enabled() and (tracked or any(t.requires_grad for t in seeds)) if create_graph is None else create_graph
        with enable_grad():
            found = gradients(outputs, trees.leaves(own), seeds, strict=False, create_graph=recorded, retain=retain_graph, what="vjp")
        return trees.like(own, found)
    value = _settled(output, tracked)
    return (value, pullback, _settled(aux, tracked)) if has_aux else (value, pullback)


def _pushed(func, primals, has_aux, transform):
    """(output, aux, function that gives the Jacobian times tangents, tracked): the product with a vector from the left is linear in that
    vector, and is differentiated by it."""
    own, output, aux, tracked = _evaluated(func, primals, {}, tuple(range(len(primals))), has_aux, transform)
    outputs, inputs = _tensors(output, transform), trees.leaves(own)
    with enable_grad():
        seeds = [B.zeros_like(t.detach()).requires_grad_() for t in outputs]
        products = gradients(outputs, inputs, seeds, strict=False, create_graph=True, what=transform)

    def pushforward(*tangents):
        """The Jacobian times the tangents, one for each argument."""
        given = _checked_tangents(tuple(tangents), tuple(primals), "tangents", transform)
        recorded = is_grad_enabled() and (tracked or any(t.requires_grad for t in given))
        with enable_grad():
            found = gradients(products, seeds, given, strict=False, create_graph=recorded, what=transform)
        return trees.like(output, found)
    return output, aux, pushforward, tracked


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(output, the Jacobian times `tangents`) at `primals`: tuples with an entry for each argument. Computed by two backward passes.

    >>> import pyx_tensor as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1., 2.]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: expected primals and tangents to be tuples")
    if not primals:
        raise RuntimeError("jvp: expected primals to have at least one Tensor")
    output, aux, pushforward, tracked = _pushed(func, primals, has_aux, "jvp")
    value, product = _settled(output, tracked), pushforward(*tangents)
    return (value, product, _settled(aux, tracked)) if has_aux else (value, product)


def linearize(func, *primals):
    """(output, function): the function gives the Jacobian at `primals` times tangents, one for each argument, without calling `func` again."""
    output, _, pushforward, tracked = _pushed(func, primals, False, "linearize")
    return _settled(output, tracked), pushforward


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of a function, of shape (*output, *input), row by row.

    Args:
        argnums: which argument to differentiate by, or a tuple of several: for each output there is a Jacobian, or a tuple of them.
        has_aux: `func` returns (output, anything), and the result is (Jacobian, anything).
        chunk_size: accepted; rows are computed one by one all the same.

    >>> import pyx_tensor as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def wrapper(*args, **kwargs):
        own, output, aux, tracked = _evaluated(func, args, kwargs, argnums, has_aux, "jacrev")
        with enable_grad():
            blocks = [trees.like(own, jacobian_rows(t, trees.leaves(own), tracked, False)) for t in _tensors(output, "jacrev")]
        jacobian = trees.like(output, blocks)
        return (jacobian, _settled(aux, tracked)) if has_aux else jacobian
    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The same as `jacrev`: PyTorch computes it column by column in forward mode, which isn't available, so rows are computed here too."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that gives the Hessian of a function whose result is a single number, of shape (*input, *input): the Jacobian's Jacobian.

    >>> import pyx_tensor as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
