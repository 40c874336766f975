"""C and Cython of users' own: compiled by the program, and in a distribution that cimports the core."""
import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import pyx_tensor as torch
from pyx_tensor.utils import cpp_extension
from pyx_tensor.utils.cpp_extension import _build, load, load_inline

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "cython_extension"
HAS_COMPILER = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) or shutil.which("cc")
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler")

CUBE = """
#include <stddef.h>
/* void cube(int wrong) { */
static double square(double x) { return x * x; }
void cube_float64(const double *x, double *y, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) y[i] = square(x[i]) * x[i]; }
void cube_float32(const float *x, float *y, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) { y[i] = x[i] * x[i] * x[i]; } }
"""
AXPY = """
#include <stddef.h>
int axpy(const double *x, const double *y, double *restrict out, double a, size_t n)
{
    if (a < 0) return 3;
    for (size_t i = 0; i < n; i++) out[i] = a * x[i] + y[i];
    return 0;
}
"""
CUBE_VJP = dict(vjp=dict(x=lambda B, g, x: B.mul(g, B.mul(3, B.square(x)))))
AXPY_VJP = dict(vjp={"x": lambda B, g, a: B.mul(g, a), "y": lambda B, g: g})


@needs_compiler
def test_a_c_function_is_an_operation(tmp_path):
    ext = load_inline("t_cube", CUBE, functions={"cube": CUBE_VJP}, build_directory=tmp_path)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(ext.cube(x), x ** 3) and ext.cube is torch.ops.t_cube.cube
    assert torch.autograd.gradcheck(ext.cube, (x,)) and torch.autograd.gradgradcheck(ext.cube, (x,))
    for y in (x.detach().float(), x.detach().t()[1:, ::2], torch.ones(0, 3), torch.tensor(2.0)):
        assert ext.cube(y).shape == y.shape and ext.cube(y).dtype is y.dtype and torch.allclose(ext.cube(y), y ** 3)
    with pytest.raises(TypeError, match="expected a tensor of float32 or float64, got int64"):
        ext.cube(torch.ones(2, dtype=torch.int64))
    with pytest.raises(NotImplementedError, match="t_cube::cube.*reference"):
        ext.cube(torch.ones(2, device="reference"))


@needs_compiler
def test_several_operands_and_numbers(tmp_path):
    ext = load_inline("t_axpy", AXPY, functions={"axpy": AXPY_VJP}, build_directory=tmp_path)
    x, y = torch.randn(3, 1, dtype=torch.float64, requires_grad=True), torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(ext.axpy(x, y, 2.0), 2 * x + y) and ext.axpy(x, y, a=1).shape == (3, 4)
    assert torch.autograd.gradcheck(lambda x, y: ext.axpy(x, y, 2.0), (x, y))
    with pytest.raises(RuntimeError, match="axpy returned 3"):
        ext.axpy(x, y, -1.0)
    with pytest.raises(TypeError, match="axpy"):
        ext.axpy(x, y, "a")
    with pytest.raises(TypeError, match="missing 1 required"):
        ext.axpy(x, y)


@needs_compiler
def test_a_body_serves_other_devices(tmp_path):
    def cube(B, x: torch.Tensor):
        """x * x * x"""
        return B.mul(B.square(x), x)
    ext = load_inline("t_cube_body", CUBE, functions={"cube": dict(definition=cube)}, build_directory=tmp_path)
    for device in ("cpu", "reference"):
        x = torch.randn(3, dtype=torch.float64, device=device, requires_grad=True)
        assert torch.autograd.gradcheck(ext.cube, (x,)) and torch.allclose(ext.cube(x), x ** 3)
    assert ext.cube.__doc__ == "x * x * x"


CLIP = """
import numpy as np
from libc.math cimport tanh

def soft_clip(x, double limit=1.0):
    "limit * tanh(x / limit)"
    cdef double[::1] a = np.ascontiguousarray(x, np.float64).reshape(-1)
    y = np.empty(x.shape, x.dtype)
    cdef double[::1] b = y.reshape(-1)
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        b[i] = limit * tanh(a[i] / limit)
    return y

def gate(x, y, sign):
    return np.where(sign * x > 0, y, 0)

def plain():
    return "of the module"
"""


@needs_compiler
def test_a_cython_module(tmp_path):
    (tmp_path / "clip.pyx").write_text(CLIP)
    vjp = dict(x=lambda B, g, y, limit: B.mul(g, B.sub(1, B.square(B.div(y, limit)))))
    ext = load("t_clip", tmp_path / "clip.pyx", {"soft_clip": dict(vjp=vjp, inplace=True), "gate": dict(tensors=("x", "y"))}, build_directory=tmp_path)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(ext.soft_clip(x, 2.0), 2 * torch.tanh(x / 2)) and torch.autograd.gradcheck(ext.soft_clip, (x,))
    assert torch.allclose(torch.ops.t_clip.soft_clip_(x.detach().clone()), torch.tanh(x)) and ext.plain() == "of the module"
    assert ext.gate(torch.tensor([1.0, -1.0]), torch.tensor([5.0, 6.0]), -1).tolist() == [0, 6] and ext.soft_clip.__doc__ == "limit * tanh(x / limit)"
    with pytest.raises(ValueError, match="no parameter 'z'"):
        load("t_clip2", tmp_path / "clip.pyx", {"gate": dict(tensors=("z",))}, build_directory=tmp_path)


POINTERS = """
#include <stddef.h>
void halve(double *x, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) x[i] /= 2; }
void cube(const double *x, double *y, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] * x[i] * x[i]; }
void cube_backward(const double *x, const double *g, double *out, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) out[i] = 3 * x[i] * x[i] * g[i]; }
"""


@needs_compiler
@pytest.mark.rows("S197")
def test_pointers_in_a_function_of_ones_own(tmp_path):
    """What data_ptr() gives is the tensor's memory, for C that is called by any other way."""
    library = ctypes.CDLL(load_inline("t_pointers", POINTERS, functions=["cube"], build_directory=tmp_path).__file__)

    def call(function, *tensors):
        function(*[ctypes.c_void_p(x.data_ptr()) for x in tensors], ctypes.c_ssize_t(tensors[0].numel()))

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            y = torch.empty_like(x)
            call(library.cube, x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            out = torch.empty_like(x)
            call(library.cube_backward, x, grad.contiguous(), out)
            return out

    a = torch.tensor([2.0, -4.0, 6.0], dtype=torch.float64)
    call(library.halve, a)
    call(library.halve, a[1:])
    assert a.tolist() == [1, -1, 1.5]
    x = a.clone().requires_grad_()
    y = Cube.apply(x)
    y.sum().backward()
    assert y.tolist() == [1, -1, 3.375] and x.grad.tolist() == [3, 3, 6.75] and torch.autograd.gradcheck(Cube.apply, (x,))


HALVE = """
def halve(double[:, :] a):
    cdef Py_ssize_t i, j
    cdef double total = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j]
            a[i, j] /= 2
    return total
"""


@needs_compiler
@pytest.mark.rows("S198")
def test_memoryviews_of_cython_are_the_tensors_memory(tmp_path):
    (tmp_path / "halve.pyx").write_text(HALVE)
    halve = load("t_halve", tmp_path / "halve.pyx", build_directory=tmp_path).halve
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    assert halve(x.numpy()) == 10 and x.tolist() == [[0.5, 1], [1.5, 2]]
    assert halve(x.t()[:1].numpy()) == 2 and x.tolist() == [[0.25, 1], [0.75, 2]]       # strides too
    assert halve(x) == 4 and x.tolist() == [[0.125, 0.5], [0.375, 1]]                   # and the tensor itself is a buffer
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        halve(x.float().numpy())


@needs_compiler
def test_what_is_built_is_found_again(tmp_path, monkeypatch):
    first = load_inline("t_again", AXPY, functions={"axpy": AXPY_VJP}, build_directory=tmp_path)

    def compile(*args):
        raise AssertionError("compiled again")
    with monkeypatch.context() as patch:
        patch.setattr(_build, "_compile", compile)
        assert load_inline("t_again", AXPY, functions={"axpy": AXPY_VJP}, build_directory=tmp_path) is first
        cpp_extension._loaded.clear()                # as another process has it
        again = load_inline("t_again", AXPY, functions={"axpy": AXPY_VJP}, build_directory=tmp_path)
        assert again is not first and again.axpy(torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64), 1.0).tolist() == [2]
        with pytest.raises(AssertionError, match="compiled again"):
            load_inline("t_again", AXPY.replace("+ y[i]", "- y[i]"), functions=["axpy"], build_directory=tmp_path)
    changed = load_inline("t_again", AXPY.replace("+ y[i]", "- y[i]"), functions=["axpy"], build_directory=tmp_path)
    one = torch.ones(1, dtype=torch.float64)
    assert changed.axpy(one, one, 1.0).tolist() == [0] and first.axpy(one, one, 1.0).tolist() == [2]
    assert sorted(os.listdir(os.path.dirname(first.__file__))) == ["t_again.so"]


@needs_compiler
@pytest.mark.parametrize(("text", "functions", "error"), [
    ("void f(const double *x, double *y) { y = 1 }", ["f"], "compiler's run failed:(.|\n)*f.c"),
    (CUBE, ["none"], "no function 'none'; it has: cube_float32, cube_float64"), (CUBE, ["square"], "no function 'square'"), (CUBE, None, "say which functions"),
    ("void f(double *y) { }", ["f"], "must return void or int, and have"), ("double f(const double *x, double *y) { return 1; }", ["f"], "must return void or int"),
    ("void f(const double *x, double *y, char **z) { }", ["f"], "parameter 'char \\*\\*z'"), ("typedef int foo; void f(const foo *x, foo *y) { }", ["f"], "parameter 'const foo \\*x'"),
])
def test_sources_that_are_refused(tmp_path, text, functions, error):
    with pytest.raises((RuntimeError, ValueError), match=error):
        load_inline("f", text, functions=functions, build_directory=tmp_path)


@needs_compiler
def test_cython_s_messages_are_shown(tmp_path):
    with pytest.raises(RuntimeError, match="Cython's translation of f.pyx failed(.|\n)*undeclared name"):
        load_inline("f", cython_sources="def f(x):\n    return no_such_name\n", functions=["f"], build_directory=tmp_path)


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no C compiler: 'no-such-compiler' isn't found. Install one"):
        load_inline("f", CUBE, functions=["cube"], build_directory=tmp_path)


def test_what_is_not_supported(tmp_path):
    with pytest.raises(NotImplementedError, match="torch/extension.h"):
        load_inline("f", cpp_sources="#include <torch/extension.h>\n", functions=["f"], build_directory=tmp_path)
    with pytest.raises(NotImplementedError, match="CUDA"):
        load_inline("f", CUBE, cuda_sources="x", functions=["f"])
    for arguments, error in ((("a-b", CUBE), "identifier"), (("f",), "no sources")):
        with pytest.raises(ValueError, match=error):
            load_inline(*arguments, functions=["f"], build_directory=tmp_path)
    (tmp_path / "x.cu").write_text("x")
    with pytest.raises(ValueError, match="expected .c, .cpp or .pyx"):
        load("f", tmp_path / "x.cu")
    assert np.get_include() in cpp_extension.include_paths()


# --- a distribution of its own ------------------------------------------------------------------------------------
USE = """
import pyx_tensor as torch
import pyx_tensor_clip
from pyx_tensor_clip import kernels, soft_clip
print(soft_clip.op.has_entry(torch.device("cpu")), kernels.__file__.rpartition(".")[2])
for dtype in (torch.float32, torch.float64):
    x = torch.linspace(-3, 3, 7, dtype=dtype)
    print(torch.allclose(soft_clip(x, 2.0), 2 * torch.tanh(x / 2)), soft_clip(x.reshape(7, 1).t()).shape)
x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(soft_clip, (x, 1.5)), torch.autograd.gradgradcheck(soft_clip, (x, 1.5)))
print(torch.ops.clip_example.soft_clip_(torch.zeros(2)).tolist(), soft_clip(torch.ones(2, device="reference")).device.type, kernels.dims_and_dtype(x))
"""


@needs_compiler
def test_a_distribution_that_cimports_the_core(tmp_path):
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.so", "*.c", "*.egg-info"))
    path = os.pathsep.join(filter(None, [str(Path(torch.__file__).parents[1]), str(target), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index", "--target",
               str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path, "CFLAGS": "-O1"})
    assert done.returncode == 0, done.stderr[-3000:]
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, timeout=120, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [
        "True so", "True torch.Size([1, 7])", "True torch.Size([1, 7])", "True True", "[0.0, 0.0] reference (2, 'float64')"]
