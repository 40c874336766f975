"""pyx_tensor under PyTorch's name. Each test is a process of its own: the alias is for the whole of a program."""
import subprocess
import sys
import textwrap


def run(*arguments, cwd=None, status=0):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=cwd)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    return done


def aliased(code):
    """What a program prints that installs the alias first."""
    return run("-c", "import pyx_tensor.alias\npyx_tensor.alias.install()\n" + textwrap.dedent(code)).stdout


def script(folder, code, *arguments, status=0):
    path = folder / "script.py"
    path.write_text(textwrap.dedent(code))
    return run("-m", "pyx_tensor", path, *arguments, cwd=folder, status=status)


def test_the_same_modules_under_both_names():
    assert aliased("""
        import sys
        import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler, torch.utils.checkpoint
        from torch.autograd import Variable
        import pyx_tensor
        print(torch is pyx_tensor, nn is pyx_tensor.nn, F is pyx_tensor.nn.functional, nn.Linear is pyx_tensor.nn.Linear)
        print(sys.modules["torch.nn.functional"] is sys.modules["pyx_tensor.nn.functional"], torch.nn.__spec__.name, torch.__name__)
        import importlib
        print(importlib.import_module("torch.optim") is pyx_tensor.optim, importlib.reload(torch.version) is pyx_tensor.version)
    """) == "True True True True\nTrue pyx_tensor.nn pyx_tensor\nTrue True\n"


def test_the_private_place_of_collating():
    assert aliased("""
        from torch.utils.data._utils.collate import default_collate
        import torch.utils.data._utils.worker as worker
        import pyx_tensor.utils.data as data
        print(default_collate is data.default_collate, worker.get_worker_info is data.get_worker_info)
    """) == "True True\n"


def test_torchvision_s_models_or_none():
    assert aliased("""
        from torchvision.models import resnet18
        import torchvision.models
        import pyx_tensor
        print(torchvision.models is pyx_tensor.vision.models, resnet18.__name__)
    """) == "True resnet18\n"
    assert run("-c", textwrap.dedent("""
        import importlib.util
        from pyx_tensor import alias
        alias.install(torchvision=False)
        import torch
        print(alias.own_name("torchvision.models"), torch.__name__)
    """)).stdout == "None pyx_tensor\n"


def test_what_libraries_look_at():
    assert aliased("""
        import importlib.metadata
        import torch
        print(torch.__version__.startswith("2.13.0+pyx"), importlib.metadata.version("torch"), torch.version.cuda, torch.cuda.is_available())
        print(type(torch.ones(1)).__module__, torch.nn.Parameter.__module__, type(torch.ones(1)))
        print(torch.backends.cudnn.is_available(), torch.backends.mps.is_available(), torch.backends.cuda.matmul.allow_tf32)
    """) == "True 2.13.0 None False\ntorch torch.nn.parameter <class 'torch.Tensor'>\nFalse False False\n"


def test_what_is_missing_is_named():
    out = aliased("""
        for statement in ("import torch.fx.experimental", "from torch.fx import wrap", "from torch import no_such_thing", "import torch; torch.no_such_thing",
                          "import torch; torch.nn.functional.no_such_thing"):
            try:
                exec(statement)
            except (ImportError, AttributeError) as error:
                print(type(error).__name__, error)
    """).splitlines()
    assert len(out) == 5 and all("pyx_tensor" in line for line in out)
    assert out[0].startswith("ModuleNotFoundError torch.fx") and out[1].startswith("ModuleNotFoundError torch.fx isn't available")
    assert all("no_such_thing" in line for line in out[2:])


def test_a_pickle_made_under_the_alias_loads_without_it(tmp_path):
    aliased(f"""
        import pickle, torch
        torch.manual_seed(0)
        with open({str(tmp_path / 'x')!r}, "wb") as file:
            pickle.dump([torch.ones(2), torch.nn.Linear(2, 1), torch.nn.Parameter(torch.zeros(1))], file)
    """)
    assert run("-c", f"import pickle; print([type(x).__name__ for x in pickle.load(open({str(tmp_path / 'x')!r}, 'rb'))])").stdout == (
        "['Tensor', 'Linear', 'Parameter']\n")


def test_install_and_uninstall():
    assert run("-c", textwrap.dedent("""
        import sys
        import pyx_tensor
        from pyx_tensor import alias
        version = pyx_tensor.__version__
        alias.install()
        alias.install()
        import torch.nn
        alias.uninstall()
        print(pyx_tensor.__version__ == version, "torch" in sys.modules, "torch.nn" in sys.modules, pyx_tensor.Tensor.__module__)
        sys.modules["torch"] = type(sys)("torch")
        try:
            alias.install()
        except RuntimeError as error:
            print(error)
    """)).stdout == ("True False False pyx_tensor.core.frontend\nalias.install(): torch itself is imported already, from somewhere; call install() "
                     "before anything that imports it\n")


PASSED = """
import torch
@torch.jit.script
def f(x): return x * 2
@torch.compile
def g(x): return f(x) + 1
@torch.compile(mode="reduce-overhead", fullgraph=True)
def h(x): return g(x)
@torch._dynamo.disable
def i(x): return h(x)
@torch.compiler.disable(recursive=False)
def j(x): return i(x)
class Net(torch.nn.Module):
    def forward(self, x): return self.same(x) + self.other(x)
    @torch.jit.ignore
    def same(self, x): return x
    @torch.jit.export
    def other(self, x): return j(x)
    @torch.jit.unused
    def never(self, x): return x
net = Net()
print(torch.jit.script(net) is net, torch.jit.trace(net, torch.ones(1)) is net, torch.compile(net) is net, net(torch.ones(2)).tolist())
print(torch.jit.is_scripting(), torch.jit.is_tracing(), torch.compiler.is_compiling(), torch.jit.annotate(int, 3), torch.jit.isinstance([1], list))
torch._dynamo.config.suppress_errors = True
torch._dynamo.reset()
for call in (lambda: torch.jit.save(net, "x"), lambda: torch.jit.load("x"), lambda: torch.compile(3), lambda: torch.compile(net, mode="fast")):
    try:
        call()
    except Exception as error:
        print(type(error).__name__)
"""


def test_compilers_are_passed_through():
    assert run("-c", "import pyx_tensor.alias; pyx_tensor.alias.install()\n" + PASSED).stdout == (
        "True True True [4.0, 4.0]\nFalse False False 3 True\nNotImplementedError\nNotImplementedError\nTypeError\nRuntimeError\n")


def test_a_script_with_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    done = script(tmp_path, """
        import sys
        import torch
        import beside
        if __name__ == "__main__":
            print(sys.argv[1:], beside.value, __file__.endswith("script.py"), sys.modules["__main__"].torch is torch)
            sys.exit(3)
    """, "a", "--flag", status=3)
    assert done.stdout == "['a', '--flag'] 2.0 True True\n"


def test_a_traceback_shows_the_script_alone(tmp_path):
    done = script(tmp_path, """
        import torch
        def inner():
            return torch.ones(2) @ torch.ones(3)
        inner()
    """, status=1)
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Traceback") and lines[1].strip().startswith(f'File "{tmp_path / "script.py"}", line 5') and "return torch.ones(2) @" in done.stderr
    assert "alias.py" not in done.stderr and "runpy" not in done.stderr
    done = script(tmp_path, "import torch\nx = (1\n", status=1)
    assert "SyntaxError" in done.stderr and "alias.py" not in done.stderr


def test_a_script_s_classes_are_pickled_and_its_processes_spawned(tmp_path):
    done = script(tmp_path, """
        import multiprocessing
        import pickle
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + 1
        def work(queue, net):
            queue.put((type(net).__module__, net(torch.ones(2)).tolist()))
        if __name__ == "__main__":
            net = pickle.loads(pickle.dumps(Net()))
            for method in ("fork", "spawn"):
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                process = context.Process(target=work, args=(queue, net))
                process.start()
                print(queue.get(timeout=60))
                process.join()
    """)
    assert done.stdout.splitlines() == ["('__main__', [2.0, 2.0])"] * 2 or done.stdout.splitlines() == ["('__main__', [2.0, 2.0])", "('__mp_main__', [2.0, 2.0])"]


def test_a_module_is_run(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text("import sys, torch\nprint(torch.__name__, sys.argv[1:])\n")
    assert run("-m", "pyx_tensor", "-m", "package", "x", cwd=tmp_path).stdout == "pyx_tensor ['x']\n"


def test_the_command_line(tmp_path):
    assert run("-m", "pyx_tensor", "--help").stdout.startswith("usage: python -m pyx_tensor SCRIPT")
    run("-m", "pyx_tensor", status=2)
    run("-m", "pyx_tensor", "-m", status=2)
    assert "can't open file" in run("-m", "pyx_tensor", tmp_path / "none.py", status=2).stderr
    assert "No such file" in run("-m", "pyx_tensor", "inspect", tmp_path / "none.pt", status=1).stderr


def test_importing_pyx_tensor_installs_nothing():
    assert run("-c", "import sys, pyx_tensor; print('torch' in sys.modules, 'pyx_tensor.alias' in sys.modules)").stdout == "False False\n"


# --- libraries that import torch ----------------------------------------------------------------------------------
def test_einops():
    assert aliased("""
        import torch
        from einops import rearrange, reduce, repeat, einsum, pack, unpack
        from einops.layers.torch import Rearrange, Reduce, EinMix
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        y = rearrange(x, "a b c -> c (a b)")
        y[1].sum().backward()
        print(y.shape, reduce(x, "a b c -> a", "mean").tolist(), repeat(x[0, 0], "c -> c r", r=2).shape, x.grad.sum().item())
        print(einsum(x, x, "a b c, a d c -> a b d").shape, Rearrange("a b c -> a (b c)")(x).shape, Reduce("a (b t) c -> a b c", "max", t=3)(x).shape)
        torch.manual_seed(0)
        mix = torch.nn.Sequential(EinMix("a b c -> a b d", weight_shape="c d", bias_shape="d", c=4, d=5), torch.nn.ReLU())
        mix(x).sum().backward()
        packed, shapes = pack([x, x], "* b c")
        print(mix[0].weight.grad.shape, packed.shape, len(unpack(packed, shapes, "* b c")))
    """) == ("torch.Size([4, 6]) [5.5, 17.5] torch.Size([4, 2]) 6.0\ntorch.Size([2, 3, 3]) torch.Size([2, 12]) torch.Size([2, 1, 4])\n"
             "torch.Size([4, 5]) torch.Size([4, 3, 4]) 2\n")


def test_opt_einsum():
    assert aliased("""
        import opt_einsum
        import torch
        x, y, z = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5, 6)
        r = opt_einsum.contract("ij,jk,kl->il", x, y, z)
        r.sum().backward()
        print(torch.allclose(r, x @ y @ z), torch.allclose(x.grad, (y @ z).sum(1).expand(3, 4)), opt_einsum.contract("ij,kl->jl", x, z, backend="torch").shape)
        expression = opt_einsum.contract_expression("ij,jk->k", (3, 4), y, constants=[1])
        print(torch.allclose(expression(x), (x @ y).sum(0), atol=1e-5))
    """) == "True True torch.Size([4, 6])\nTrue\n"
