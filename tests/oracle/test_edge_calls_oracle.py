"""Calls at the edges of what operations take, the same text in both libraries: equal results (dtype, shape, values), or errors of one class."""
import pytest

import pyx_tensor
from call_support import assert_alike, calls, is_error, outcome

torch = pytest.importorskip("torch")

# T is the library.
RANGES = """
T.arange(1, 4, .5, dtype=T.int32)                 T.arange(0, 4, .5, dtype=T.uint8)
T.arange(5, 1, -.7, dtype=T.int16)                T.arange(5, 1, -1.5, dtype=T.int8)
T.arange(-1.7, 4.2, 1.2, dtype=T.int64)           T.arange(-1.7, 4.2, 1.2, dtype=T.int32)
T.arange(1, 4, .5, dtype=T.int64)                 T.arange(0, 1, 0.)
T.arange(5.5, dtype=T.int8)                       T.arange(-3, 302, 100, dtype=T.uint8)
T.arange(1, 4, .5, out=T.empty(0, dtype=T.int32))     T.arange(T.tensor(1), T.tensor(4), T.tensor(.5), dtype=T.int32)
T.arange(0, 3, dtype=T.bool)                      T.arange(0, 3, dtype=T.complex64)
T.range(1.7, 4.2, 1.2, dtype=T.int64)             T.range(5.5, 1.2, -1.5, dtype=T.int16)
T.range(-3.7, 2, dtype=T.int32)                   T.range(1.5, 3, out=T.empty(0, dtype=T.int32))
T.range(T.tensor(1), T.tensor(3))                 T.range(0, 3, dtype=T.bool)
T.linspace(1.9, 4.9, 7, dtype=T.int64)            T.linspace(-3.5, 4.9, 8, dtype=T.int8)
T.linspace(-3, 30, 4, dtype=T.uint8)              T.linspace(0, 300, 4, dtype=T.uint8)
T.linspace(0, 1e30, 3, dtype=T.int64)             T.linspace(0, math.nan, 3, dtype=T.int32)
T.linspace(0, 1e39, 3)                            T.linspace(0, 1, 3, dtype=T.bool)
T.linspace(0, 1 + 2j, 3)                          T.linspace(0j, 1, 1)
T.linspace(0, 1 + 2j, 3, dtype=T.float32)         T.linspace(0, 1 + 2j, 3, out=T.empty(0))
T.linspace(-3.3, 11.7, 33, dtype=T.float16)       T.linspace(-3.3, 11.7, 33, dtype=T.bfloat16)
T.linspace(0, 70000, 3, dtype=T.float16)          T.linspace(T.tensor([0.]), 5.5, 3)
T.linspace(3, 5, 1, dtype=T.float16)              T.linspace(T.tensor(0), T.tensor(5.5), 3, dtype=T.int32)
T.logspace(0, 300, 3, dtype=T.uint8)              T.logspace(0, 3, 4, dtype=T.bool)
T.logspace(.5, 2.7, 5, base=3, dtype=T.int64)
"""

SUMS_OF_PRODUCTS = """
T.addmm(T.ones(1), T.full((3, 3), math.nan), T.ones(3, 3), alpha=0)
T.addmm(T.ones(3, 3), T.full((3, 3), math.inf), T.ones(3, 3), alpha=0, beta=0)
T.addmm(T.full((3, 3), math.nan), T.ones(3, 3), T.ones(3, 3), beta=0)
T.addmm(T.full((1, 1), math.nan), T.ones(1, 0), T.ones(0, 1), beta=0)
T.addmm(T.full((3, 3), 1), T.full((3, 3), 2), T.full((3, 3), 2), alpha=0)
T.addmv(T.ones(3), T.full((3, 3), math.nan), T.ones(3), alpha=0)
T.addmv(T.full((3,), math.nan), T.ones(3, 3), T.ones(3), beta=0)
T.addbmm(T.ones(3, 3), T.full((2, 3, 3), math.inf), T.ones(2, 3, 3), alpha=0)
T.addbmm(T.full((3, 3), math.nan), T.ones(2, 3, 3), T.ones(2, 3, 3), beta=0)
T.baddbmm(T.ones(2, 40, 40), T.full((2, 40, 40), math.inf), T.ones(2, 40, 40), alpha=0)
T.baddbmm(T.full((2, 3, 3), math.nan), T.ones(2, 3, 3), T.ones(2, 3, 3), beta=0, alpha=2)
T.addr(T.ones(2, 2), T.full((2,), math.inf), T.ones(2), alpha=0)
T.addr(T.full((2, 2), math.nan), T.ones(2), T.ones(2), beta=0)
T.ones(3, 3).addmm_(T.full((3, 3), math.inf), T.ones(3, 3), alpha=0)
T.full((2, 2), math.nan).addbmm_(T.ones(2, 2, 2), T.ones(2, 2, 2), beta=0)
"""

INTEGERS = """
T.clamp(T.tensor([1, 2], dtype=T.int8), np.int64(-300), np.int64(300))     T.tensor([1, 2], dtype=T.int8).clamp_(max=np.int64(300))
T.tensor([1, 2], dtype=T.uint8).clamp(max=np.int32(256))                   T.tensor([1, 2], dtype=T.uint8).clamp(min=np.int64(-1))
T.clamp_min(T.tensor([1, 2], dtype=T.int8), np.int64(300))                 T.clamp(T.tensor([1, 2], dtype=T.int8), np.int64(2))
T.where(T.tensor([True, False]), T.tensor([1, 2], dtype=T.int8), np.int64(300))
T.where(T.tensor([True, False]), np.int64(300), T.tensor([1, 2], dtype=T.int8))
T.where(T.tensor([True, False]), T.tensor([1, 2], dtype=T.int8), np.int64(3))
T.where(T.tensor([True, False]), np.int64(300), T.tensor([1., 2.]))
T.pow(T.tensor([1, 2], dtype=T.int8), np.int64(300))                       T.pow(T.tensor([1, 2], dtype=T.int8), np.int64(-2))
T.tensor([1, 2], dtype=T.int8) ** np.int64(3)                              T.pow(300, T.tensor([1, 2], dtype=T.int8))
T.tensor([1, 2], dtype=T.int8).add(1, alpha=300)                           T.tensor([1, 2], dtype=T.int8).add_(1, alpha=np.int64(300))
"""

ERRORS = """
T.amax(T.tensor([1 + 2j]))              T.amin(T.tensor([1 + 2j]))              T.aminmax(T.tensor([1 + 2j]))
T.max(T.tensor([1 + 2j]))               T.cummax(T.tensor([1 + 2j]), 0)         T.cummin(T.tensor([1 + 2j]), 0)
T.median(T.tensor([1j]))                T.nanmedian(T.tensor([1j]), 0)          T.mode(T.tensor([1j]))
T.sort(T.tensor([1j]))                  T.topk(T.tensor([1j]), 1)               T.kthvalue(T.tensor([1j]), 1)
T.block_diag(3)                         T.block_diag(3.5, T.ones(1))            T.cartesian_prod(3)
T.cartesian_prod(T.ones(2), 3)          T.cartesian_prod()                      T.atleast_1d(3)
T.atleast_2d(3)                         T.atleast_3d(3)                         T.atleast_2d(T.ones(1), 3)
T.atleast_1d([3])                       T.meshgrid(T.ones(2), 3)                T.broadcast_tensors(T.ones(2), 3)
T.trapezoid(3.)                         T.trapezoid(T.ones(3), 3)               T.trapezoid(T.ones(3), x=3)
T.cumulative_trapezoid(T.ones(3), 3)    T.chain_matmul(3)                       T.chain_matmul(T.ones(2, 2), 3)
T.tensor(['a'])                         T.tensor([['a']])                       T.tensor('a')
T.tensor([1, 'a'])                      T.tensor(['a', 1])                      T.tensor([b'a'])
T.tensor([1, [2]])                      T.tensor([[1], 2])                      T.tensor([[1], [2, 3]])
T.tensor([[1, 2], [3, [4]]])            T.tensor([1.5, (2,)])                   T.as_tensor([1, [2]])
T.tensor([None])                        T.tensor([None], dtype=T.float32)       T.tensor([object()])
T.LongTensor(['a'])                     T.Tensor([1, [2]])
T.amax(T.zeros(0), 0)                   T.amax(T.zeros(0))                      T.amax(T.zeros(0), ())
T.amin(T.zeros(0, 3), [])               T.amin(T.zeros(0, 3), 0)                T.amin(T.zeros(0, 3), 1)
T.amax(T.zeros(0, 3), (0, 1))           T.zeros(0).amin(-1)                     T.zeros(0).amax()
"""

NO_DIMS = """
T.all(T.tensor([[True, False], [True, True]]), dim=())                  T.any(T.tensor([[True, False], [True, True]]), dim=[])
T.any(T.tensor([[3, 0], [1, 1.]]), dim=(), keepdim=True)                T.all(T.tensor([[3, 0], [1, 1]], dtype=T.uint8), dim=())
T.tensor([[3, 0], [1, 1]]).any(())                                      T.all(T.ones(2, 2), dim=(), out=T.empty(2, 2, dtype=T.bool))
T.any(T.tensor(True), dim=())                                           T.all(T.tensor([[3, 0], [1, 1]]), (0,))
T.all(T.tensor([[3, 0], [1, 1]]), dim=(0, 1), keepdim=True)             T.all(T.tensor([[3, 0], [1, 1]]), dim=None)
T.all(T.zeros(0), dim=())                                               T.all(T.ones(2, 2), dim=(0, 0))
"""


SEGMENTS_AND_BINOMIALS = """
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', lengths=T.tensor([1, 3]))
T.segment_reduce(T.arange(8.).view(4, 2), 'mean', lengths=T.tensor([2, 0, 2]))
T.segment_reduce(T.arange(8.).view(4, 2), 'mean', lengths=T.tensor([2, 0, 2]), initial=2)
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', lengths=T.tensor([2, 0, 2]), initial=2)
T.segment_reduce(T.arange(8.).view(4, 2), 'max', lengths=T.tensor([2, 0, 2]))
T.segment_reduce(T.arange(8.).view(4, 2), 'max', lengths=T.tensor([2, 0, 2]), initial=4.)
T.segment_reduce(T.arange(8.).view(4, 2), 'min', lengths=T.tensor([2, 0, 2]))
T.segment_reduce(T.arange(8.).view(4, 2), 'min', lengths=T.tensor([2, 0, 2]), initial=4.)
T.segment_reduce(T.arange(8.).view(4, 2), 'prod', lengths=T.tensor([2, 0, 2]))
T.segment_reduce(T.arange(8.).view(4, 2), 'prod', lengths=T.tensor([2, 0, 2]), initial=3.)
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', offsets=T.tensor([0, 1, 4]))
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', offsets=T.tensor([1, 4]))
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', offsets=T.tensor([0, 1, 3]))
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', offsets=T.tensor([0, 3, 1, 4]))
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', lengths=T.tensor([[1, 1], [2, 0], [0, 2], [1, 1]]), axis=1)
T.segment_reduce(T.arange(8.).view(4, 2), 'sum', lengths=T.tensor([[1, 1], [2, 0], [0, 2], [1, 1]]), axis=-1)
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([1, 2]))
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([1, 2]), unsafe=True)
T.segment_reduce(T.arange(4.), 'sum')
T.segment_reduce(T.arange(4.), 'sum', indices=T.tensor([0, 0, 1, 1]))
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([1., 3.]))
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([-1, 5]))
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([[4]]))
T.segment_reduce(T.arange(4.), 'sum', lengths=[4])
T.segment_reduce(T.arange(4.), 'sum', lengths=T.tensor([1, 3], dtype=T.int32))
T.segment_reduce(T.arange(4), 'sum', lengths=T.tensor([4]))
T.segment_reduce(T.arange(4.), 'amax', lengths=T.tensor([4]))
T.segment_reduce(T.zeros(0, 2), 'max', lengths=T.tensor([0, 0]))
T.segment_reduce(T.zeros(4, 0), 'max', lengths=T.tensor([2, 2]))
T.segment_reduce(T.tensor([1., math.nan, 3.]), 'max', lengths=T.tensor([3]), initial=5)
T.segment_reduce(T.tensor(1.), 'max', lengths=T.tensor(1))
T.func.grad(lambda x: T.segment_reduce(x, 'max', lengths=T.tensor([3, 3])).sum())(T.tensor([1., 3., 3., 2., 0., 0.]))
T.func.grad(lambda x: T.segment_reduce(x, 'max', lengths=T.tensor([3, 3]), initial=3.).sum())(T.tensor([1., 3., 3., 2., 0., 0.]))
T.func.grad(lambda x: T.segment_reduce(x, 'mean', lengths=T.tensor([2, 4]), initial=3.).sum())(T.tensor([1., 3., 3., 2., 0., 0.]))
T.func.grad(lambda x: T.segment_reduce(x, 'prod', lengths=T.tensor([3, 3])).sum())(T.tensor([1., 3., 3., 2., 0., 0.]))
[T.manual_seed(0), T.binomial(T.tensor([10., 100., 5., 3.]), T.tensor([.5, .3, .9, 0.])), T.rand(1)][1:]
[T.manual_seed(0), T.binomial(T.full((50,), 1000.), T.tensor([[.01], [.3], [.99]])), T.rand(1)][1:]
[T.manual_seed(0), T.binomial(T.full((50,), 12., dtype=T.float64), T.tensor(.3, dtype=T.float64)), T.rand(1)][1:]
T.binomial(T.tensor([10]), T.tensor([.5]))
T.binomial(T.tensor([10.]), T.tensor([.5], dtype=T.float64))
T.binomial(T.tensor([10., -1.]), T.tensor([1.5, .5]))
T.binomial(3., T.tensor([.5]))
"""


OTHERS = """
[T.manual_seed(1), T.testing.make_tensor(3, 20, dtype=T.float32, device='cpu'), T.rand(1)][1:]
[T.manual_seed(1), T.testing.make_tensor((5,), dtype=T.complex64, device='cpu', low=1, high=3), T.rand(1)][1:]
[T.manual_seed(1), T.testing.make_tensor((7,), dtype=T.int64, device='cpu', exclude_zero=True)][1:]
[T.manual_seed(1), T.testing.make_tensor((), dtype=T.bool, device='cpu')][1:]
T.testing.make_tensor((2,), dtype=T.bool, device='cpu', low=1, high=1)
T.testing.make_tensor((2,), dtype=T.float32, device='cpu', low=1, high=1)
T.testing.make_tensor((2,), dtype=T.int8, device='cpu', requires_grad=True)
T.testing.make_tensor((2,), dtype=T.int8, device='cpu', low=math.nan)
T.testing.make_tensor(2, 3, 4, 5, dtype=T.float32, device='cpu', memory_format=T.channels_last).stride()
T.cond(T.tensor([1., 2.]), lambda: T.ones(1), lambda: T.zeros(1))
"""


@pytest.mark.parametrize("call", calls(RANGES, SUMS_OF_PRODUCTS, INTEGERS, ERRORS, NO_DIMS, SEGMENTS_AND_BINOMIALS, OTHERS))
def test_a_call_at_the_edge(call):
    assert_alike(outcome(pyx_tensor, call), outcome(torch, call))


@pytest.mark.parametrize("options,error", [("backend='nope'", "InvalidBackend"), ("mode='nope'", "RuntimeError"), ("mode='lite', options={}", "RuntimeError"),
                                           ("backend='eager'", None), ("backend=lambda graph, inputs: graph", None)])
def test_options_of_compile(options, error):
    for lib in (torch, pyx_tensor):
        found = outcome(lib, f"[T.compile(lambda x: x, {options}), T.ones(1)][1]")
        assert found == error if error else not is_error(found)
