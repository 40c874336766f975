"""What is timed: families of statements, each with the preparation that makes its names.

The same text runs under pyx_tensor and PyTorch, as `torch`; NumPy has a preparation and statements of its own for
what it can do. Statements are timed as text, so that no call but theirs is counted. asv finds the classes here;
`ratios.py` runs the same families side by side.
"""
LIBRARIES = ("pyx_tensor", "torch", "numpy")


class _Family:
    """Case name -> statement, under PyTorch's names; a case that NumPy lacks is missing from `numpy_cases`."""
    prepare = ""
    cases = {}
    numpy_prepare = ""
    numpy_cases = {}
    param_names = ("library", "case")

    def __init_subclass__(cls):
        cls.params = (LIBRARIES, tuple(cls.cases))

    @classmethod
    def text(cls, library, case):
        """(statement, preparation) of a case; None where the library lacks it."""
        if library == "numpy":
            if case not in cls.numpy_cases:
                return None
            return cls.numpy_cases[case], f"import numpy as np\n{cls.numpy_prepare}"
        return cls.cases[case], f"import {library} as torch\n{cls.prepare}"

    def setup(self, library, case):
        if self.text(library, case) is None:
            raise NotImplementedError(f"{library} has no {case}")  # asv's way to skip

    def timeraw_case(self, library, case):
        return self.text(library, case)


class Small(_Family):
    """Ten float32 elements: the cost of a call."""
    prepare = """
x, y, square = torch.randn(10), torch.randn(10), torch.randn(8, 8)
batch, weight, bias = torch.randn(4, 8), torch.randn(8, 8), torch.randn(8)
linear = torch.nn.functional.linear
"""
    cases = {
        "add": "x + y", "multiply by a scalar": "x * 2.0", "exp": "x.exp()", "sum": "x.sum()",
        "view": "x.view(2, 5)", "slice": "x[2:7]", "select": "x[3]",
        "8x8 matmul": "square @ square", "linear": "linear(batch, weight, bias)",
    }
    numpy_prepare = """
x, y = np.random.randn(2, 10).astype(np.float32)
square = np.random.randn(8, 8).astype(np.float32)
"""
    numpy_cases = {
        "add": "x + y", "multiply by a scalar": "x * 2.0", "exp": "np.exp(x)", "sum": "x.sum()",
        "view": "x.reshape(2, 5)", "slice": "x[2:7]", "select": "x[3]", "8x8 matmul": "square @ square",
    }


class Backward(_Family):
    """A graph of three nodes over ten elements, recorded and walked."""
    prepare = "g = torch.randn(10)\nb = torch.randn(10, requires_grad=True)"
    cases = {"(g * b).sum().backward()": "(g * b).sum().backward()"}


class Million(_Family):
    """One million float32 elements: the kernels."""
    prepare = "x, y = torch.randn(1_000_000), torch.randn(1_000_000)\ngelu = torch.nn.functional.gelu"
    cases = {
        "add": "x + y", "sum": "x.sum()", "sigmoid": "x.sigmoid()", "gelu": "gelu(x)", "exp": "x.exp()", "tanh": "x.tanh()",
    }
    numpy_prepare = "x, y = np.random.randn(2, 1_000_000).astype(np.float32)"
    numpy_cases = {"add": "x + y", "sum": "x.sum()", "exp": "np.exp(x)", "tanh": "np.tanh(x)"}


class Rows(_Family):
    """Normalisation over the rows of a 1024 x 1024 matrix."""
    prepare = "x = torch.randn(1024, 1024)\nlayer_norm = torch.nn.functional.layer_norm"
    cases = {"softmax": "torch.softmax(x, 1)", "layer_norm": "layer_norm(x, (1024,))"}


class Large(_Family):
    """Sixteen million float32 elements: the memory."""
    prepare = "x, y = torch.randn(16_000_000), torch.randn(16_000_000)"
    cases = {"add": "x + y"}
    numpy_prepare = "x, y = np.random.rand(2, 16_000_000).astype(np.float32)"
    numpy_cases = cases


class Sgemm(_Family):
    """Square float32 matrix products."""
    sizes = (64, 128, 256, 512, 1024, 2048)
    prepare = f"a = {{n: torch.randn(n, n) for n in {sizes}}}"
    numpy_prepare = f"a = {{n: np.random.randn(n, n).astype(np.float32) for n in {sizes}}}"
    cases = {f"{n} x {n}": f"a[{n}] @ a[{n}]" for n in sizes}
    numpy_cases = cases


class Factors(_Family):
    """Square float32 matrices: one of 64 or 512 rows, and 1000 of four rows."""
    prepare = """
matrices = [torch.randn(*shape) for shape in ((64, 64), (512, 512), (1000, 4, 4))]
middle, large, many = [m @ m.mT + m.shape[-1] * torch.eye(m.shape[-1]) for m in matrices]
linalg = torch.linalg
"""
    cases = {f"{case} of {size}": f"linalg.{case}({name})" for name, size in (("middle", "64"), ("large", "512"), ("many", "1000 times 4"))
             for case in ("inv", "cholesky", "qr", "eigh", "svd")}
    numpy_prepare = """
matrices = [np.random.randn(*shape).astype(np.float32) for shape in ((64, 64), (512, 512), (1000, 4, 4))]
middle, large, many = [m @ m.swapaxes(-1, -2) + m.shape[-1] * np.eye(m.shape[-1], dtype=np.float32) for m in matrices]
linalg = np.linalg
"""
    numpy_cases = cases


class Convolution(_Family):
    """Images through convolutions, forward and with both gradients."""
    shapes = {      # images, weight, stride, padding, groups
        "(8,3,224,224) to 64, 7x7, step 2": ((8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
        "(8,64,56,56) to 64, 3x3": ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
        "(8,256,14,14) to 256, 3x3": ((8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1),
        "(8,256,56,56) to 64, 1x1": ((8, 256, 56, 56), (64, 256, 1, 1), 1, 0, 1),
        "(32,1,28,28) to 32, 5x5": ((32, 1, 28, 28), (32, 1, 5, 5), 1, 2, 1),
        "(8,64,56,56) depthwise 3x3": ((8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
    }
    prepare = f"""
shapes = {shapes!r}

def forward(name):
    image, weight, stride, padding, groups = shapes[name]
    x, w = torch.randn(image), torch.randn(weight)
    return lambda: torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)

def gradients(name):
    image, weight, stride, padding, groups = shapes[name]
    x, w = torch.randn(image, requires_grad=True), torch.randn(weight, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)
    g = torch.randn(y.shape)
    return lambda: torch.autograd.grad(torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups), (x, w), g)

runs = {{}}

def run(kind, name):
    if (kind, name) not in runs:
        runs[kind, name] = kind(name)
    return runs[kind, name]()
"""
    cases = {**{f"{name}, forward": f"run(forward, {name!r})" for name in shapes},
             **{f"{name}, all": f"run(gradients, {name!r})" for name in shapes}}


class Pooling(_Family):
    """(8, 64, 112, 112) by windows of 3x3, two apart."""
    prepare = """
F = torch.nn.functional
x = torch.randn(8, 64, 112, 112)
leaf = torch.randn(8, 64, 112, 112, requires_grad=True)
g = torch.randn(8, 64, 56, 56)
"""
    cases = {
        "max": "F.max_pool2d(x, 3, 2, 1)", "average": "F.avg_pool2d(x, 3, 2, 1)",
        "max, gradient": "torch.autograd.grad(F.max_pool2d(leaf, 3, 2, 1), leaf, g)",
        "average, gradient": "torch.autograd.grad(F.avg_pool2d(leaf, 3, 2, 1), leaf, g)",
    }


class Training(_Family):
    """A whole training step: forward, loss, backward, update."""
    prepare = """
nn = torch.nn

def training_step(model, optimizer, inputs, loss_of, target):
    def step():
        optimizer.zero_grad()
        loss_of(model(inputs), target).backward()
        optimizer.step()
    return step

small = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
small_step = training_step(small, torch.optim.Adam(small.parameters()), torch.randn(32, 4), nn.MSELoss(), torch.randn(32, 2))
digits = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
digits_step = training_step(digits, torch.optim.SGD(digits.parameters(), lr=0.01), torch.randn(64, 784),
                            nn.CrossEntropyLoss(), torch.randint(0, 10, (64,)))
images = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                       nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
images_step = training_step(images, torch.optim.SGD(images.parameters(), lr=0.01), torch.randn(64, 1, 28, 28),
                            nn.CrossEntropyLoss(), torch.randint(0, 10, (64,)))
"""
    cases = {"MLP 4-64-64-2, batch 32, Adam": "small_step()", "MLP 784-128-10, batch 64, SGD": "digits_step()",
             "CNN 32-64-128-10, batch 64, SGD": "images_step()"}


class Files(_Family):
    """Checkpoints: many small tensors, and 64 MB in eight."""
    prepare = """
import io, os, tempfile
folder = tempfile.TemporaryDirectory()
small, large = {str(i): torch.randn(8, 8) for i in range(200)}, {str(i): torch.randn(1 << 21) for i in range(8)}
small_path, large_path, target = (os.path.join(folder.name, name) for name in ("small.pt", "large.pt", "target.pt"))
torch.save(small, small_path)
torch.save(large, large_path)
"""
    cases = {"save 200 small tensors": "torch.save(small, target)", "load 200 small tensors": "torch.load(small_path)",
             "save 64 MB": "torch.save(large, target)", "load 64 MB": "torch.load(large_path)", "map 64 MB": "torch.load(large_path, mmap=True)"}


class Import(_Family):
    """A fresh interpreter that imports the library."""
    prepare = "import subprocess, sys"
    cases = {"import": "subprocess.run([sys.executable, '-c', 'import ' + torch.__name__], check=True)"}
    numpy_prepare = prepare
    numpy_cases = {"import": "subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"}


FAMILIES = (Small, Backward, Million, Rows, Large, Sgemm, Convolution, Pooling, Training, Files, Import)
