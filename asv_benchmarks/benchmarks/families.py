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


class Fourier(_Family):
    """Fourier transforms of float32 and complex64: rows, an image, a signal of a million values, one second of speech in frames."""
    prepare = """
rows, image, signal = torch.randn(64, 1024), torch.randn(256, 256), torch.randn(1 << 20)
spectra, speech, window = torch.fft.rfft(rows), torch.randn(4, 48000), torch.hann_window(400)
"""
    cases = {
        "rfft 64 x 1024": "torch.fft.rfft(rows)", "irfft 64 x 1024": "torch.fft.irfft(spectra)", "fft2 256 x 256": "torch.fft.fft2(image)",
        "rfft 1M": "torch.fft.rfft(signal)", "stft 4 x 48000": "torch.stft(speech, 400, 160, window=window, return_complex=True)",
    }
    numpy_prepare = "rows, image, signal = (np.random.randn(*n).astype(np.float32) for n in ((64, 1024), (256, 256), (1 << 20,)))"
    numpy_cases = {"rfft 64 x 1024": "np.fft.rfft(rows)", "fft2 256 x 256": "np.fft.fft2(image)", "rfft 1M": "np.fft.rfft(signal)"}


class Special(_Family):
    """Special functions of a million float32 values."""
    prepare = "x, p = torch.randn(1_000_000), torch.rand(1_000_000)"
    cases = {"i0": "torch.i0(x)", "erfcx": "torch.special.erfcx(x)", "log_ndtr": "torch.special.log_ndtr(x)", "ndtri": "torch.special.ndtri(p)",
             "igamma": "torch.igamma(p, p)"}


class Sparse(_Family):
    """A sparse matrix of 5000 x 5000 with 50 000 values: made, multiplied, added; and the gradient of an embedding."""
    prepare = """
places, values, right = torch.randint(0, 5000, (2, 50_000)), torch.randn(50_000), torch.randn(5000, 64)
made = torch.sparse_coo_tensor(places, values, (5000, 5000))
sparse, dense = made.coalesce(), torch.zeros(5000, 5000)
table, words = torch.nn.Embedding(100_000, 64, sparse=True), torch.randint(0, 100_000, (32, 64))
"""
    cases = {"coalesce": "made.coalesce()", "times 5000 x 64": "torch.sparse.mm(sparse, right)", "added to a dense matrix": "dense.add_(sparse)",
             "embedding and its gradient": "table.weight.grad = None; table(words).sum().backward()"}


class Sequences(_Family):
    """Training steps of models of sequences: a recurrent language model, and a small GPT."""
    prepare = """
nn, functional = torch.nn, torch.nn.functional

class Recurrent(nn.Module):
    def __init__(self, kind, vocabulary=1000, width=200):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.rnn = getattr(nn, kind)(width, width, 2)

    def forward(self, x):
        return self.head(self.rnn(self.embedding(x))[0])

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, steps, width = x.shape
        q, k, v = (p.view(batch, steps, self.heads, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(width, 2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).contiguous().view(batch, steps, width))
        return x + self.mlp(self.norm2(x))

class GPT(nn.Module):
    def __init__(self, vocabulary=65, width=128, context=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x) + self.places(torch.arange(x.shape[1])))))

def training_step(model, optimizer, shape, vocabulary):
    x, y = torch.randint(0, vocabulary, shape), torch.randint(0, vocabulary, shape)
    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(x).view(-1, vocabulary), y.view(-1)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
    return step

lstm, gru, gpt = Recurrent("LSTM"), Recurrent("GRU"), GPT()
lstm_step = training_step(lstm, torch.optim.SGD(lstm.parameters(), lr=1.0), (35, 20), 1000)
gru_step = training_step(gru, torch.optim.SGD(gru.parameters(), lr=1.0), (35, 20), 1000)
gpt_step = training_step(gpt, torch.optim.AdamW(gpt.parameters()), (12, 64), 65)
"""
    cases = {"LSTM-200, 2 layers, 35 steps, batch 20": "lstm_step()", "GRU-200, 2 layers, 35 steps, batch 20": "gru_step()",
             "GPT, 4 layers of 128, context 64, batch 12": "gpt_step()"}
class Loading(_Family):
    """A pass of a loader over 6400 samples in batches of 64, and a 64 MB tensor through a queue to another process and back."""
    prepare = """
import importlib
data = importlib.import_module(torch.__name__ + ".utils.data")
mp = importlib.import_module(torch.__name__ + ".multiprocessing")
samples = data.TensorDataset(torch.randn(6400, 20), torch.randint(0, 10, (6400,)))
here = data.DataLoader(samples, batch_size=64, shuffle=True)
there = data.DataLoader(samples, batch_size=64, shuffle=True, num_workers=2, persistent_workers=True)

def all_batches(loader):
    for batch in loader:
        pass

def answer(questions, answers):
    for x in iter(questions.get, None):
        answers.put(x[-1].item())
        del x

questions, answers = mp.Queue(), mp.Queue()
context = mp.get_context("fork")
process = context.Process(target=answer, args=(questions, answers), daemon=True)

def send(elements):
    if process.pid is None:
        process.start()
    questions.put(torch.ones(elements))
    answers.get()
"""
    cases = {"100 batches of 64": "all_batches(here)", "100 batches of 64, 2 processes": "all_batches(there)",
             "64 MB through a queue": "send(16_000_000)", "4 kB through a queue": "send(1000)"}


class Optimizers(_Family):
    """One step over 100 parameters of 8 x 8, and over one of ten million elements."""
    names = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor")
    prepare = f"""
def step_of(name, count, size):
    parameters = [torch.nn.Parameter(torch.randn(*size)) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(*size)
    return getattr(torch.optim, name)(parameters).step

small = {{name: step_of(name, 100, (8, 8)) for name in {names}}}
large = {{}}

def large_step(name):
    if name not in large:
        large.clear()
        large[name] = step_of(name, 1, (2500, 4000))
    large[name]()
"""
    cases = {**{f"{name}, 100 small": f"small[{name!r}]()" for name in names}, **{f"{name}, 10 M": f"large_step({name!r})" for name in names}}


class Import(_Family):
    """A fresh interpreter that imports the library."""
    prepare = "import subprocess, sys"
    cases = {"import": "subprocess.run([sys.executable, '-c', 'import ' + torch.__name__], check=True)"}
    numpy_prepare = prepare
    numpy_cases = {"import": "subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"}


FAMILIES = tuple(_Family.__subclasses__())
