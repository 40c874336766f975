"""`torch.vmap` and the derivatives of `torch.func`, the same calls in both libraries."""
import pytest

import pyx_tensor
from call_support import assert_alike, calls, outcome

torch = pytest.importorskip("torch")

VMAP = """
T.vmap(T.dot)(T.ones(3, 2), T.arange(6.).view(3, 2))
T.vmap(T.dot, in_dims=(None, 0))(T.ones(2), T.arange(6.).view(3, 2))
T.vmap(T.dot, in_dims=(0, 1))(T.ones(3, 2), T.arange(6.).view(2, 3))
T.vmap(lambda x: x*2, out_dims=1)(T.ones(3, 2))
T.vmap(lambda x: (x*2, x.sum()), out_dims=(1, 0))(T.ones(3, 2))
T.vmap(lambda x: (x*2, ), out_dims=(1, ))(T.ones(3, 2))
T.vmap(lambda x: (x*2, ), out_dims=1)(T.ones(3, 2))
T.vmap(lambda x: x*2, out_dims=(1, ))(T.ones(3, 2))
T.vmap(lambda x: {'a': x*2, 'b': [x.sum()]})(T.ones(3, 2))['b'][0]
T.vmap(lambda d: d['a']+d['b'], in_dims=({'a':0, 'b':None}, ))(dict(a=T.ones(3, 2), b=T.ones(2)))
T.vmap(lambda d, y: d['a']+d['b']+y)(dict(a=T.ones(3, 2), b=T.ones(3, 2)), T.arange(3.))
T.vmap(lambda x, y=None: x+y)(T.ones(3), y=T.ones(2))
T.vmap(T.vmap(T.dot, in_dims=(0, None)), in_dims=(None, 0))(T.ones(3, 2), T.arange(8.).view(4, 2))
T.vmap(lambda x: x)(T.ones(3, 2))
T.vmap(lambda x: 3)(T.ones(3, 2))
T.vmap(lambda x: T.ones(2))(T.ones(3, 2))
T.vmap(lambda x: T.ones(2), out_dims=None)(T.ones(3, 2))
T.vmap(lambda x: x, out_dims=None)(T.arange(3.))
T.vmap(lambda x, y: x)(T.ones(3, 2), T.ones(2, 2))
T.vmap(lambda x, y: x, in_dims=(0, ))(T.ones(3, 2), T.ones(2, 2))
T.vmap(lambda x, y: x, in_dims=(None, None))(T.ones(3, 2), T.ones(2, 2))
T.vmap(lambda x: x)(3)
T.vmap(lambda x: x, in_dims=(None, ))(3)
T.vmap(lambda x, y: x*y, in_dims=(0, None))(T.ones(3), 3)
T.vmap(lambda: 3)()
T.vmap(lambda x: x, in_dims=2)(T.ones(3, 2))
T.vmap(lambda x: x, in_dims=-1)(T.ones(3, 2))
T.vmap(lambda x: x, in_dims='a')(T.ones(3, 2))
T.vmap(lambda x: x, in_dims=[0])(T.ones(3, 2))
T.vmap(lambda x: x, out_dims=3)(T.ones(3, 2))
T.vmap(lambda x: x, out_dims=-1)(T.ones(3, 2))
T.vmap(lambda x: x, out_dims='a')(T.ones(3, 2))
T.vmap(lambda x: x, out_dims=(0, 0))(T.ones(3, 2))
T.vmap(lambda x: x + T.rand(2))(T.ones(3, 2))
T.vmap(lambda x: x + T.rand(2), randomness='no')(T.ones(3, 2))
[T.manual_seed(3), T.vmap(lambda x: x + T.rand(2), randomness='same')(T.ones(3, 2))][1]
[T.manual_seed(3), T.vmap(lambda x: x + T.rand(2), randomness='different')(T.ones(3, 2))][1]
[T.manual_seed(3), T.vmap(lambda x: T.nn.functional.dropout(x), randomness='same')(T.ones(3, 2))][1]
T.vmap(lambda x: x*2, chunk_size=2)(T.ones(3, 2))
T.vmap(lambda x: x*2, chunk_size=0)(T.ones(3, 2))
T.vmap(T.sum)(T.ones(3, 2))
"""

DERIVATIVES = """
T.func.grad(lambda x: (x**3).sum())(T.tensor([1., 2.]))
T.func.grad(lambda x, y: (x*y).sum(), argnums=1)(T.tensor([1., 2.]), T.tensor([3., 4.]))
T.func.grad(lambda x, y: (x*y).sum(), argnums=(0, 1))(T.tensor([1., 2.]), T.tensor([3., 4.]))
T.func.grad(lambda x, y: (x*y).sum(), argnums=(0, 0))(T.tensor([1., 2.]), T.tensor([3., 4.]))
T.func.grad(lambda x, y: (x*y).sum(), argnums=2)(T.tensor([1., 2.]), T.tensor([3., 4.]))
T.func.grad(lambda x, y: (x*y).sum(), argnums=-1)(T.tensor([1., 2.]), T.tensor([3., 4.]))
T.func.grad(lambda x: x)(T.tensor([1., 2.]))
T.func.grad(lambda x: 3)(T.tensor([1., 2.]))
T.func.grad(lambda x: T.tensor(3.))(T.tensor([1., 2.]))
T.func.grad(lambda x: x.sum())(T.tensor([1, 2]))
T.func.grad(lambda x: x.sum())(3)
T.func.grad(lambda d: (d['a']*d['b'][0]).sum())(dict(a=T.ones(2), b=[T.arange(2.)]))['b'][0]
T.func.grad(lambda x: (x.sum(), x*2), has_aux=True)(T.ones(2))
T.func.grad(lambda x: x.sum(), has_aux=True)(T.ones(2))
T.func.grad_and_value(lambda x: (x**2).sum())(T.ones(2))
T.func.grad_and_value(lambda x: ((x**2).sum(), x*2), has_aux=True)(T.ones(2))[1]
T.func.grad(T.func.grad(lambda x: x**3))(T.tensor(2.))
T.func.grad(lambda x: T.func.grad(lambda y: x*y*y)(x))(T.tensor(2.))
T.func.grad(lambda x: T.func.grad(lambda y: x**2*y**3)(x*2))(T.tensor(2.))
T.func.grad(lambda x: T.func.grad(lambda y: y**3)(x.detach())*x)(T.tensor(2.))
T.func.vmap(T.func.grad(lambda w, x: (w*x).sum()**2), in_dims=(None, 0))(T.ones(2), T.arange(6.).view(3, 2))
T.func.vjp(T.sin, T.zeros(2))[1](T.tensor([1., 2.]))
T.func.vjp(lambda x, y: (x*y, x), T.ones(2), T.arange(2.))[1]((T.ones(2), T.ones(2)))
T.func.vjp(lambda x, y: (x*y, x), T.ones(2), T.arange(2.))[0]
T.func.vjp(lambda x: (x*2, x.sum()), T.ones(2), has_aux=True)[2]
T.func.vjp(T.sin, T.zeros(2))[1](T.ones(3))
T.func.vjp(T.sin, T.zeros(2))[1]((T.ones(2), T.ones(2)))
T.func.vjp(lambda x: 3, T.zeros(2))
T.func.jvp(T.sin, (T.zeros(2), ), (T.tensor([1., 2.]), ))
T.func.jvp(lambda x, y: {'a': x*y}, (T.ones(2), T.arange(2.)), (T.tensor([1., 2.]), T.ones(2)))[1]['a']
T.func.jvp(T.sin, (T.zeros(2), ), (T.ones(3), ))
T.func.jvp(T.sin, (T.zeros(2), ), (T.ones(2), T.ones(2)))
T.func.jvp(T.sin, T.zeros(2), T.ones(2))
T.func.jvp(lambda x: T.ones(2), (T.zeros(2), ), (T.ones(2), ))
T.func.jacrev(T.sin)(T.zeros(2))
T.func.jacrev(lambda x: (x**2, x.sum()))(T.ones(2))
T.func.jacrev(lambda x, y: x*y, argnums=(0, 1))(T.ones(2), T.arange(2.))
T.func.jacrev(lambda x: {'a': x**2})(T.ones(2))['a']
T.func.jacrev(lambda d: d['a']**2)({'a':T.ones(2)})['a']
T.func.jacfwd(T.sin)(T.zeros(2))
T.func.jacfwd(lambda x: (x**2, x.sum()), has_aux=True)(T.ones(2))
T.func.jacfwd(lambda x, y: x.outer(y), argnums=1)(T.ones(2), T.arange(2.))
T.func.hessian(lambda x: (x**3).sum())(T.tensor([1., 2.]))
T.func.hessian(lambda x, y: (x*y**2).sum(), argnums=(0, 1))(T.tensor([1., 2.]), T.ones(2))
T.func.vmap(T.func.hessian(lambda x: (x**3).sum()))(T.tensor([[1., 2.], [3., 4.]]))
T.func.vmap(T.func.jacrev(T.sin))(T.zeros(3, 2))
T.func.linearize(T.sin, T.zeros(2))[1](T.tensor([1., 2.]))
T.func.linearize(lambda x, y: x*y, T.ones(2), T.arange(2.))[1](T.ones(2), T.tensor([1., 2.]))
T.func.jacrev(T.func.jacrev(lambda x: x**3))(T.tensor([1., 2.]))
T.func.jvp(T.func.grad(lambda x: (x**3).sum()), (T.tensor([1., 2.]), ), (T.tensor([1., 0.]), ))
T.func.jacrev(lambda x: x.relu(), chunk_size=0)(T.ones(2))
T.func.jacrev(lambda x: 3)(T.ones(2))
T.func.grad(lambda x: x.sum(), argnums=())(T.ones(2))
T.func.grad(lambda x: x.sum(), argnums='a')(T.ones(2))
T.func.grad(lambda x: x.item()*x.sum())(T.tensor(2.))
"""


@pytest.mark.parametrize("call", calls(VMAP, DERIVATIVES))
def test_a_call(call):
    assert_alike(outcome(pyx_tensor, call), outcome(torch, call))


def ensemble(lib):
    """The gradients of a model's loss, one for each sample, and the outputs of several models on one batch."""
    lib.manual_seed(0)
    models = [lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1)) for _ in range(2)]
    x, y = lib.randn(5, 3), lib.randn(5, 1)
    parameters = {name: p.detach() for name, p in models[0].named_parameters()}

    def loss(parameters, x, y):
        return ((lib.func.functional_call(models[0], parameters, (x,)) - y) ** 2).sum()
    per_sample = lib.vmap(lib.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    stacked, buffers = lib.func.stack_module_state(models)
    outputs = lib.vmap(lambda p, b, x: lib.func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(stacked, buffers, x)
    outputs.sum().backward()
    return [*per_sample.values(), outputs, *(p.grad for p in stacked.values())]


def adapted(lib):
    """One step of a gradient inside, through which the gradients of the outer loss flow: to an argument that requires grad, and to what the function holds."""
    weight, scale = lib.tensor([1., 2.], requires_grad=True), lib.tensor([3., -1.], requires_grad=True)

    def inner(w):
        return (scale * w ** 3).sum()
    step = lib.func.grad(inner)(weight)
    (weight - 0.1 * step).square().sum().backward()
    with lib.no_grad():
        plain = lib.func.grad(inner)(weight)
    value, pullback = lib.func.vjp(lambda w: w * scale, weight.detach())
    product = pullback(lib.ones(2))[0]
    return [weight.grad, scale.grad, plain, value, product] + [lib.tensor(t.requires_grad) for t in (step, plain, value, product)]


@pytest.mark.parametrize("program", [ensemble, adapted])
def test_a_program(program):
    for mine, theirs in zip(program(pyx_tensor), program(torch), strict=True):
        torch.testing.assert_close(torch.tensor(mine.tolist()), torch.tensor(theirs.tolist()))
