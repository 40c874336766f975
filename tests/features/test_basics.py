"""Tensors as a newcomer meets them: making, asking, printing, NumPy's bridge, arithmetic, reductions, indexing, shapes."""
import numpy as np
import pytest

import pyx_tensor as torch


@pytest.fixture
def matrix():
    """NumPy's tutorial matrix: 10 * row + column."""
    return 10 * torch.arange(5).view(5, 1) + torch.arange(4)


# --- making --------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S001", "S002", "S021")
def test_sizes():
    x = torch.Tensor(5, 3)
    assert x.dtype is torch.float32
    assert x.size() == x.shape == torch.Size([5, 3]) and x.size(1) == 3 and type(x.size(0)) is int and isinstance(x.shape, tuple)
    assert repr(x.size()) == "torch.Size([5, 3])" and repr(torch.tensor(1).size()) == "torch.Size([])"
    assert (x.dim(), x.ndim, x.ndimension(), torch.tensor(1.0).dim()) == (2, 2, 2, 0)


@pytest.mark.rows("S010")
def test_numel():
    assert torch.numel(torch.zeros(2, 3)) == torch.zeros(2, 3).nelement() == 6
    assert torch.tensor(1.0).numel() == 1 and torch.zeros(0, 4).numel() == 0


@pytest.mark.rows("S022", "S023", "S024")
def test_element_types():
    assert torch.arange(3).dtype is torch.int64
    for name, size in (("int64", 8), ("float64", 8), ("float32", 4), ("int16", 2), ("uint8", 1)):
        x = torch.zeros(1, dtype=getattr(torch, name))
        assert x.element_size() == x.itemsize == size
    assert torch.tensor([1, 2.5]).dtype is torch.float32 and torch.tensor([True, 2]).dtype is torch.int64
    assert torch.tensor([(1, 2), [3, 4]], dtype=torch.complex64).tolist() == [[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]]
    with pytest.raises(ValueError):
        torch.tensor([[1, 2], [3]])


@pytest.mark.rows("S025", "S026", "S027")
def test_filled_and_sequences():
    assert torch.zeros((2, 3)).dtype is torch.float32 and torch.zeros((2, 3)).tolist() == [[0, 0, 0]] * 2
    ones = torch.ones((2, 3, 4), dtype=torch.int16)
    assert ones.shape == (2, 3, 4) and ones.dtype is torch.int16 and (ones == 1).all()
    assert torch.empty((2, 3)).shape == (2, 3) and torch.empty((2, 3)).dtype is torch.float32
    whole, steps = torch.arange(10, 30, 5), torch.arange(0, 2, 0.3)
    assert whole.tolist() == [10, 15, 20, 25] and whole.dtype is torch.int64
    assert steps.tolist() == pytest.approx([0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8]) and steps.dtype is torch.float32
    assert torch.linspace(0, 2, steps=9).tolist() == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]
    points = torch.linspace(0, 2 * np.pi, steps=100)
    assert points[0] == 0 and points[-1].item() == pytest.approx(2 * np.pi)
    assert torch.sin(points).tolist() == pytest.approx(np.sin(np.linspace(0, 2 * np.pi, 100)).tolist(), abs=1e-6)


# --- what an object is ---------------------------------------------------------------------------------------------
@pytest.mark.rows("S007", "S008")
def test_is_tensor_and_is_storage():
    x = torch.arange(6).view(2, 3)
    tensors = [x, x[0], torch.FloatTensor(2), torch.autograd.Variable(torch.ones(1)), torch.nn.Parameter(torch.ones(1))]
    storages = [x.storage(), x.untyped_storage()]
    others = [np.ones(2), [1], 1.0, None, torch.Tensor]
    assert all(map(torch.is_tensor, tensors)) and not any(map(torch.is_tensor, storages + others))
    assert all(map(torch.is_storage, storages)) and not any(map(torch.is_storage, tensors + others))


def test_questions():
    x = torch.ones(2, 3)
    assert torch.is_floating_point(x) and not torch.is_floating_point(x.long()) and not torch.is_floating_point(x.to(torch.complex64))
    assert torch.is_complex(x.to(torch.complex64)) and not torch.is_complex(x)
    assert torch.is_signed(x) and not torch.is_signed(x.byte())
    assert torch.is_nonzero(torch.tensor([2])) and not torch.is_nonzero(torch.tensor(0.0))
    assert torch.is_same_size(x, x + 1) and not torch.is_same_size(x, x[0])
    assert not torch.is_inference(x)
    assert torch.can_cast(torch.int32, torch.float32) and not torch.can_cast(torch.float32, torch.int32)
    assert torch.typename(x) == "torch.FloatTensor"
    for question in (torch.numel, torch.is_floating_point, torch.is_complex, torch.is_signed, torch.is_inference):
        with pytest.raises(TypeError, match="argument 'input' must be Tensor, not int"):
            question(3)


@pytest.mark.rows("S008")
def test_views_share_one_storage():
    x = torch.arange(6.0).view(2, 3)
    y = x[1]
    assert x.untyped_storage() == y.untyped_storage() != torch.ones(6).untyped_storage()
    assert y.storage().data_ptr() == x.data_ptr() and y.storage_offset() == 3
    assert y.storage().tolist() == [0, 1, 2, 3, 4, 5] and len(y.storage()) == y.storage().size() == 6
    assert x.storage().nbytes() == len(x.untyped_storage()) == 24 and x.storage().dtype is torch.float32
    s = x.storage()
    s[0] = 9
    assert x[0, 0] == 9 and s[0] == 9.0 and s.fill_(2) is s and (x == 2).all()
    assert repr(s) == "[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 6]"
    assert str(torch.arange(2).storage()).startswith(" 0\n 1\n[torch")
    copy = s.clone()
    copy[1] = 5
    assert s[1] == 2 and s.copy_(copy)[1] == 5 and x[0, 1] == 5
    with pytest.raises(RuntimeError, match="size mismatch"):
        s.copy_(torch.ones(2).storage())
    assert torch.empty(0).set_(s).tolist() == x.view(-1).tolist()
    with pytest.raises(IndexError):
        s[6]


@pytest.mark.rows("S097")
@pytest.mark.parametrize(("name", "dtype"), [
    ("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"), ("BFloat16Tensor", "bfloat16"), ("ByteTensor", "uint8"),
    ("CharTensor", "int8"), ("ShortTensor", "int16"), ("IntTensor", "int32"), ("LongTensor", "int64"), ("BoolTensor", "bool")])
def test_typed_tensors(name, dtype):
    kind, dtype = getattr(torch, name), getattr(torch, dtype)
    assert repr(kind) == f"<class 'torch.{name}'>" and kind.dtype is dtype and not kind.is_cuda
    for made in (kind(2, 3), kind([[1, 0]]), kind(torch.Size([2])), kind(np.ones(2)), kind()):
        assert made.dtype is dtype and isinstance(made, kind) and type(made) is torch.Tensor
    assert kind(2, 3).shape == (2, 3) and kind([[1, 0]]).tolist() == [[1, 0]] and kind().shape == (0,)
    x = torch.ones(2, dtype=dtype)
    assert kind(x).data_ptr() == x.data_ptr() and x.type() == f"torch.{name}"
    assert torch.arange(2).type(kind).dtype is torch.arange(2).type(f"torch.{name}").dtype is dtype
    assert not isinstance(x, getattr(torch.cuda, name)) and not isinstance(np.ones(2), kind)


def test_typed_tensors_refuse():
    with pytest.raises(TypeError, match="expects a tensor of torch.float32 on cpu, got one of torch.int64"):
        torch.FloatTensor(torch.arange(2))
    with pytest.raises(TypeError, match="data must be a sequence \\(got float\\)"):
        torch.FloatTensor(2.5)
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: reference"):
        torch.FloatTensor(2, device="reference")
    for bad in ("torch.FooTensor", "FloatTensor", "np.FloatTensor", ""):
        with pytest.raises(ValueError, match="invalid type"):
            torch.ones(1).type(bad)


@pytest.mark.rows("S009")
def test_default_tensor_type():
    try:
        for kind in (torch.DoubleTensor, "torch.DoubleTensor"):
            torch.set_default_tensor_type(kind)
            assert torch.ones(1).dtype is torch.tensor([1.0]).dtype is torch.Tensor(2).dtype is torch.float64
            torch.set_default_tensor_type(torch.FloatTensor)
            assert torch.ones(1).dtype is torch.float32
        for bad in (torch.LongTensor, "torch.IntTensor", 3):
            with pytest.raises(TypeError, match="only floating-point types"):
                torch.set_default_tensor_type(bad)
    finally:
        torch.set_default_dtype(torch.float32)


# --- settings ------------------------------------------------------------------------------------------------------
def test_deterministic_algorithms():
    assert not torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool, not int"):
        torch.use_deterministic_algorithms(1)


def test_backends_flags():
    import pyx_tensor.backends.cudnn as cudnn
    assert cudnn is torch.backends.cudnn and not cudnn.is_available() and cudnn.version() is None
    cudnn.benchmark = True
    with cudnn.flags(benchmark=False, deterministic=True):
        assert not cudnn.benchmark and cudnn.deterministic and cudnn.enabled
    assert cudnn.benchmark and not cudnn.deterministic
    cudnn.benchmark = False
    with pytest.raises(RuntimeError, match="set_enabled_cudnn expects a bool, but got int"):
        cudnn.enabled = 0
    with pytest.raises(RuntimeError, match="expects a bool"), cudnn.flags(deterministic=True, allow_tf32=1):
        pass
    assert cudnn.enabled and not cudnn.deterministic and cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    torch.backends.cuda.matmul.allow_tf32 = False
    assert not torch.backends.mps.is_available() and not torch.backends.mkl.is_available() and not torch.backends.mkldnn.is_available()
    assert torch.backends.openmp.is_available() == (torch.get_num_threads() > 1)


def test_other_settings():
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="one of highest, high, medium"):
        torch.set_float32_matmul_precision("low")
    assert torch.set_flush_denormal(True) is False
    assert torch.version.__version__ == torch.__version__


def test_fork_rng():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    with pytest.raises(KeyError), torch.random.fork_rng():
        torch.manual_seed(0)
        torch.rand(10)
        raise KeyError
    assert torch.equal(torch.rand(4), expected)
    with torch.random.fork_rng(enabled=False):
        torch.manual_seed(3)
    assert torch.equal(torch.rand(4), expected) and torch.random.initial_seed() == 3


# --- NumPy ---------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S003", "S004")
def test_numpy_shares_memory_both_ways():
    x = torch.ones(2, 3)
    a = x.numpy()
    a[0, 0] = 7
    x[1, 1] = 8
    assert type(a) is np.ndarray and a.dtype == np.float32 and a.tolist() == x.tolist() == [[7, 1, 1], [1, 8, 1]]
    b = np.arange(3)
    y = torch.from_numpy(b)
    b[0], y[1] = 5, 6
    assert y.tolist() == [5, 6, 2] and b.tolist() == [5, 6, 2] and y.dtype is torch.int64
    with pytest.raises(RuntimeError):
        y.resize_(10)
    assert b.tolist() == [5, 6, 2] and torch.from_numpy(np.zeros((2, 3), np.uint8)).dtype is torch.uint8
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(2, requires_grad=True).numpy()


@pytest.mark.rows("S018", "S039")
def test_numpy_functions_take_tensors():
    x = torch.tensor([3.0, 1.0, 2.0])
    assert np.sort(x).tolist() == [1, 2, 3]
    assert np.asarray(x).dtype == np.float32 and np.array(x, copy=True) is not x
    assert torch.from_numpy(np.sort(x.numpy())).tolist() == [1, 2, 3]
    grid = torch.from_numpy(np.fromfunction(lambda i, j: 10 * i + j, (5, 4), dtype=int))
    assert torch.equal(grid, 10 * torch.arange(5).view(-1, 1) + torch.arange(4)) and grid[4, 3] == 43
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(torch.ones(2, requires_grad=True))


@pytest.mark.rows("S019")
def test_scipy_through_the_bridge():
    linalg = pytest.importorskip("scipy.linalg")
    assert torch.from_numpy(linalg.expm(torch.zeros(2, 2).numpy())).tolist() == [[1, 0], [0, 1]]
    x = torch.tensor([[4.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    inverse = linalg.inv(x.numpy())
    result = torch.from_numpy(inverse)
    assert x.numpy().ctypes.data == x.data_ptr() and result.data_ptr() == inverse.ctypes.data and result.tolist() == [[0.25, 0], [0, 0.5]]


# --- printing ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S012", "S013", "S014", "S015", "S017")
@pytest.mark.parametrize(("made", "shown"), [
    (lambda: torch.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: torch.tensor([[0.5, -1.25], [10.0, 2.0]]), "tensor([[ 0.5000, -1.2500],\n        [10.0000,  2.0000]])"),
    (lambda: torch.tensor(3), "tensor(3)"),
    (lambda: torch.tensor(5.0), "tensor(5.)"),
    (lambda: torch.arange(3), "tensor([0, 1, 2])"),
    (lambda: torch.tensor([1.0], dtype=torch.float64), "tensor([1.], dtype=torch.float64)"),
    (lambda: torch.tensor([1], dtype=torch.uint8), "tensor([1], dtype=torch.uint8)"),
    (lambda: torch.tensor([1], dtype=torch.int32), "tensor([1], dtype=torch.int32)"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: torch.ones(1, requires_grad=True) + 1, "tensor([2.], grad_fn=<AddBackward0>)"),
    (lambda: torch.tensor([]), "tensor([])"),
    (lambda: torch.zeros(0, 4), "tensor([], size=(0, 4))"),
])
def test_printed(made, shown):
    assert repr(made()) == str(made()) == shown


@pytest.mark.rows("S011")
def test_print_options():
    try:
        torch.set_printoptions(precision=2)
        assert repr(torch.tensor([0.12345])) == "tensor([0.12])"
        torch.set_printoptions(threshold=7)
        assert repr(torch.arange(8)) == "tensor([0, 1, 2,  ..., 5, 6, 7])" and repr(torch.arange(7)) == "tensor([0, 1, 2, 3, 4, 5, 6])"
        assert repr(torch.tensor([0.12345])) == "tensor([0.12])"
        torch.set_printoptions(linewidth=20)
        assert repr(torch.arange(7)) == "tensor([0, 1, 2, 3,\n        4, 5, 6])"
        torch.set_printoptions(profile="full")
        assert "..." not in repr(torch.arange(2000))
        torch.set_printoptions(profile="short")
        assert repr(torch.tensor([0.12345])) == "tensor([0.12])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([0.12345])) == "tensor([0.1235])"


@pytest.mark.rows("S020")
def test_format():
    w = torch.tensor(3.14159)
    assert "{:+.2f} {:.6f}".format(w, torch.tensor(0.5)) == "+3.14 0.500000" and f"{w:.3f}" == "3.142"
    assert f"{torch.tensor(7):03d}" == "007"


# --- arithmetic ----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S005", "S028")
def test_elementwise():
    a, b = torch.tensor([20, 30, 40, 50]), torch.arange(4)
    assert (a - b).tolist() == [20, 29, 38, 47] and (b ** 2).tolist() == [0, 1, 4, 9]
    assert (a < 35).tolist() == [True, True, False, False] and (a < 35).dtype is torch.bool
    assert (10 * torch.sin(a)).tolist() == pytest.approx([9.12945251, -9.88031624, 7.4511316, -2.62374854], rel=1e-6)
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    for operation, expected in ((x + y, [4, 7]), (x - y, [-2, -3]), (x * y, [3, 10]), (y / x, [3, 2.5])):
        assert operation.tolist() == expected
    assert x.tolist() == [1, 2] and y.tolist() == [3, 5]


@pytest.mark.rows("S029")
def test_matrix_products():
    a, b = torch.tensor([[1, 1], [0, 1]]), torch.tensor([[2, 0], [3, 4]])
    assert (a * b).tolist() == [[2, 0], [0, 4]]
    for product in (a.mm(b), a @ b, torch.matmul(a, b)):
        assert product.tolist() == [[5, 4], [3, 4]]
    with pytest.raises(RuntimeError):
        torch.dot(a, b)


@pytest.mark.rows("S030", "S031")
def test_in_place_arithmetic():
    a, b = torch.ones(2, 3, dtype=torch.int64), torch.full((2, 3), 0.5)
    same, pointer = a, a.data_ptr()
    a *= 3
    assert a is same and a.data_ptr() == pointer and a.tolist() == [[3] * 3] * 2
    float_pointer = b.data_ptr()
    b += a
    assert b.dtype is torch.float32 and b.data_ptr() == float_pointer and b.tolist() == [[3.5] * 3] * 2
    with pytest.raises(RuntimeError, match="can't be cast"):
        a += b
    assert a.tolist() == [[3] * 3] * 2


@pytest.mark.rows("S032")
@pytest.mark.parametrize(("one", "other", "result"), [
    ("int64", "float32", "float32"), ("float32", "float64", "float64"), ("int32", "int64", "int64"), ("bool", "int32", "int32")])
def test_the_more_precise_type_wins(one, other, result):
    total = torch.ones(2, dtype=getattr(torch, one)) + torch.ones(2, dtype=getattr(torch, other))
    assert total.dtype is getattr(torch, result)
    assert torch.result_type(torch.ones(2, dtype=getattr(torch, one)), torch.ones(2, dtype=getattr(torch, other))) is getattr(torch, result)


@pytest.mark.rows("S032")
def test_python_numbers_do_not_widen():
    assert (torch.ones(1, dtype=torch.float16) * 2.0).dtype is torch.float16
    assert (torch.ones(1, dtype=torch.int8) + 1).dtype is torch.int8
    assert (torch.ones(1, dtype=torch.int8) + 1.0).dtype is torch.float32


# --- reductions ----------------------------------------------------------------------------------------------------
@pytest.mark.rows("S033", "S034")
def test_reductions():
    b = torch.arange(12).reshape(3, 4)
    assert b.sum().shape == () and (b.sum().item(), b.min().item(), b.max().item()) == (66, 0, 11)
    assert b.sum(axis=0).tolist() == b.sum(0).tolist() == [12, 15, 18, 21] and b.sum(1).tolist() == [6, 22, 38]
    values, indices = b.min(axis=1)
    assert values.tolist() == [0, 4, 8] and indices.tolist() == [0, 0, 0] and b.flip(1).min(1).indices.tolist() == [3, 3, 3]
    assert b.cumsum(axis=1).tolist() == [[0, 1, 3, 6], [4, 9, 15, 22], [8, 17, 27, 38]]


# --- indexing ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S006", "S035")
def test_basic_indexing(matrix):
    assert matrix[2, 3] == 23 and matrix[2, 3].shape == ()
    assert matrix[0:5, 1].tolist() == matrix[:, 1].tolist() == [1, 11, 21, 31, 41]
    assert matrix[1:3, :].tolist() == [[10, 11, 12, 13], [20, 21, 22, 23]]
    assert matrix[-1].tolist() == [40, 41, 42, 43]
    for view in (matrix[2, 3], matrix[:, 1], matrix[1:3], matrix[-1]):
        view.fill_(-1)
    assert (matrix == -1).sum() == 14
    for outside in (5, -6, (0, 4)):
        with pytest.raises(IndexError):
            matrix[outside]


@pytest.mark.rows("S036", "S037", "S038")
def test_one_dimension():
    a = torch.arange(10) ** 3
    assert a[2] == 8 and a[2:5].tolist() == [8, 27, 64]
    a[:6:2] = 1000
    assert a.tolist() == [1000, 1, 1000, 27, 1000, 125, 216, 343, 512, 729]
    assert torch.flip(a, (0,)).tolist() == a.flip(0).tolist() == a.tolist()[::-1] and a.flip(0).untyped_storage() != a.untyped_storage()
    assert a[2:5].untyped_storage() == a.untyped_storage() and a[2:5].storage_offset() == 2
    with pytest.raises(ValueError):
        a[::-1]
    roots = [i ** (1 / 3.0) for i in torch.tensor([-8.0, 8.0])]
    assert all(r.shape == () for r in roots) and torch.isnan(roots[0]) and roots[1].item() == pytest.approx(2)


@pytest.mark.rows("S040")
def test_ellipsis():
    c = torch.arange(12).view(2, 2, 3)
    assert torch.equal(c[1, ...], c[1]) and c[1, ...].tolist() == [[6, 7, 8], [9, 10, 11]] and c[..., 2].tolist() == [[2, 5], [8, 11]]
    assert c[1, ...].untyped_storage() == c[..., 2].untyped_storage() == c.untyped_storage()
    c[..., 2] = 0
    assert c.sum() == 66 - 2 - 5 - 8 - 11


@pytest.mark.rows("S041", "S042")
def test_index_arrays():
    a = torch.arange(12) ** 2
    i = torch.tensor([1, 1, 3, 8, 5])
    for index in (i, i.tolist(), i.numpy()):
        assert a[index].tolist() == [1, 1, 9, 64, 25]
    j = torch.tensor([[3, 4], [9, 7]])
    assert a[j].tolist() == [[9, 16], [81, 49]]
    palette = torch.tensor([[0, 0, 0], [255, 0, 0], [0, 255, 0]])
    image = torch.tensor([[0, 1, 2, 0], [0, 2, 1, 0]])
    assert palette[image].tolist() == [[palette[color].tolist() for color in row] for row in image.tolist()] and palette[image].shape == (2, 4, 3)
    a[i].zero_()
    assert a.tolist() == [k * k for k in range(12)]


@pytest.mark.rows("S043", "S044", "S045")
def test_an_index_array_per_axis():
    a = torch.arange(12).reshape(3, 4)
    i, j = torch.tensor([[0, 1], [1, 2]]), torch.tensor([[2, 1], [3, 3]])
    assert a[i, j].tolist() == [[2, 5], [7, 11]] and a[i, 2].tolist() == [[2, 6], [6, 10]]
    assert a[:, j].tolist() == [[[4 * row + k for k in pair] for pair in j.tolist()] for row in range(3)] and torch.equal(a[(i, j)], a[i, j])
    s = torch.stack([i, j])
    assert torch.equal(a[tuple(s)], a[i, j])
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        a[s]
    assert a[i].shape == (2, 2, 4) and a[i][1, 1].tolist() == [8, 9, 10, 11]
    with pytest.raises(IndexError):
        a[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]


@pytest.mark.rows("S046", "S047", "S048", "S052")
def test_masks():
    a = torch.arange(12).reshape(3, 4)
    assert a[a > 4].tolist() == [5, 6, 7, 8, 9, 10, 11]
    with pytest.warns(UserWarning, match="torch.uint8 is now deprecated"):
        assert a[(a > 4).to(torch.uint8)].tolist() == [5, 6, 7, 8, 9, 10, 11]
    rows, columns = torch.tensor([False, True, True]), torch.tensor([True, False, True, False])
    assert a[rows, :].tolist() == a[rows].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert a[:, columns].tolist() == [[0, 2], [4, 6], [8, 10]]
    assert a[rows, columns].tolist() == [4, 10]
    for wrong in ((torch.tensor([True, False]),), (slice(None), torch.tensor([True] * 3))):
        with pytest.raises(IndexError):
            a[wrong]
    a[a > 4].zero_()
    assert a.tolist() == np.arange(12).reshape(3, 4).tolist()
    a[a > 4] = 0
    assert a.tolist() == [[0, 1, 2, 3], [4, 0, 0, 0], [0, 0, 0, 0]]
    b = torch.zeros(4)
    b[torch.tensor([True, False, True, False])] = torch.tensor([5.0, 6.0])
    assert b.tolist() == [5, 0, 6, 0]


@pytest.mark.rows("S049")
def test_iteration():
    b = torch.arange(6).view(2, 3)
    for row in b:
        row += 1
    assert b.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert [e.item() for e in b.view(-1)] == [e.item() for e in b.flatten()] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(TypeError):
        iter(torch.tensor(1.0))


@pytest.mark.rows("S050", "S051")
def test_assignment_through_indices():
    a = torch.arange(5)
    a[[1, 3, 4]] = 0
    assert a.tolist() == [0, 0, 2, 0, 0]
    a = torch.arange(5)
    a[[0, 0, 2]] = torch.tensor([1, 2, 3])
    assert a.tolist() == [2, 1, 3, 3, 4]
    a = torch.arange(5)
    a[[0, 0, 2]] += 1
    assert a.tolist() == [1, 1, 3, 3, 4]


# --- shapes --------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S053", "S054", "S055")
def test_reshaping():
    a = torch.arange(12.0).view(3, 4)
    assert a.ravel().tolist() == torch.ravel(a).tolist() == a.flatten().tolist() == list(range(12))
    assert a.reshape(6, 2).tolist() == a.view(6, 2).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    assert a.reshape(2, -1).shape == a.view(-1, 6).shape == (2, 6) and a.shape == (3, 4)
    assert a.ravel().data_ptr() == a.reshape(6, 2).data_ptr() == a.data_ptr()
    assert a.t().ravel().tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    for wrong in ((5, 2), (-1, -1)):
        with pytest.raises(RuntimeError):
            a.reshape(*wrong)
    assert a.T.tolist() == a.t().tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]] and a.T.data_ptr() == a.data_ptr() and a.shape == (3, 4)
    same = a
    assert a.resize_(2, 6) is same and a.shape == (2, 6) and a.resize_((2, 3)).shape == (2, 3)
    assert a.resize_(4, 3).view(-1)[:12].tolist() == list(range(12))
    grown = torch.ones(2).resize_(4)
    assert grown[:2].tolist() == [1, 1]


@pytest.mark.rows("S056", "S057", "S058")
def test_stacking():
    a, b = torch.tensor([[9.0, 7.0], [5.0, 2.0]]), torch.tensor([[1.0, 9.0], [5.0, 1.0]])
    assert torch.vstack((a, b)).tolist() == [[9, 7], [5, 2], [1, 9], [5, 1]]
    assert torch.column_stack((a, b)).tolist() == torch.hstack((a, b)).tolist() == [[9, 7, 1, 9], [5, 2, 5, 1]]
    x, y = torch.tensor([4, 2]), torch.tensor([3, 8])
    assert torch.vstack((x, y)).tolist() == [[4, 2], [3, 8]] and torch.hstack((x, y)).tolist() == [4, 2, 3, 8]
    assert torch.column_stack((x, y)).tolist() == [[4, 3], [2, 8]]
    with pytest.raises(RuntimeError):
        torch.vstack((a, torch.ones(1, 3)))


@pytest.mark.rows("S059", "S060", "S061")
def test_splitting():
    a = torch.arange(24).view(2, 12)
    parts = torch.hsplit(a, 3)
    assert isinstance(parts, tuple) and [p.shape[1] for p in parts] == [4, 4, 4] and parts[0].data_ptr() == a.data_ptr()
    assert parts[1].tolist() == [[4, 5, 6, 7], [16, 17, 18, 19]]
    assert [p.shape[1] for p in torch.hsplit(a, (3, 4))] == [3, 1, 8] and torch.hsplit(a, (3, 4))[1].tolist() == [[3], [15]]
    with pytest.raises(RuntimeError):
        torch.hsplit(a, 5)
    x = torch.arange(16.0).view(4, 4)
    assert [p.tolist() for p in torch.vsplit(x, 2)] == [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11], [12, 13, 14, 15]]]
    pieces = torch.vsplit(x, (3, 6))
    assert [p.shape for p in pieces] == [(3, 4), (1, 4), (0, 4)] and repr(pieces[-1]) == "tensor([], size=(0, 4))"
    y = torch.arange(8)
    for pieces, expected in ((torch.tensor_split(y, 3), [[0, 1, 2], [3, 4, 5], [6, 7]]), (torch.split(y, 3), [[0, 1, 2], [3, 4, 5], [6, 7]]),
                             (torch.tensor_split(y, (3, 5, 6, 10)), [[0, 1, 2], [3, 4], [5], [6, 7], []]),
                             (torch.split(y, [3, 2, 1, 2]), [[0, 1, 2], [3, 4], [5], [6, 7]])):
        assert [p.tolist() for p in pieces] == expected
