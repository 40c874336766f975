"""Times beside PyTorch eager on the same device, as a table in Markdown. Medians of rounds of the two in turn."""
import statistics
import time

from start import STANDIN, OPTIONS, Part, torch, time_is_up

SMALL = STANDIN      # sizes with which the program can be tried out
ROUNDS = 2 if SMALL else 7


def size(large, small):
    return small if SMALL else large


def library():
    """PyTorch with its CUDA; over the stand-in, ourselves in its place."""
    if STANDIN:
        return torch
    import torch as pytorch
    pytorch.backends.cuda.matmul.allow_tf32 = False
    return pytorch


class BasicBlock:
    """ResNet's block, made for a library."""

    @staticmethod
    def make(t, inside, outside, stride):
        nn = t.nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1, self.bn1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
                self.conv2, self.bn2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
                self.relu = nn.ReLU()
                self.down = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)) if stride != 1 or inside != outside else None

            def forward(self, x):
                y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
                return self.relu(y + (x if self.down is None else self.down(x)))

        return Block()


def resnet18(t):
    nn = t.nn
    width = size(64, 4)
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for stage in range(4):
        for block in range(2):
            inside = width if stage == 0 else width << (stage - (block == 0))
            layers.append(BasicBlock.make(t, inside, width << stage, 2 if stage and not block else 1))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width << 3, 1000))


def gpt(t):
    nn, F = t.nn, t.nn.functional
    width, heads, depth, words = size(768, 32), size(12, 2), size(12, 2), size(50304, 100)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            n, length, _ = x.shape
            q, k, v = (p.reshape(n, length, heads, width // heads).transpose(1, 2) for p in self.qkv(self.ln1(x)).split(width, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(n, length, width))
            return x + self.down(F.gelu(self.up(self.ln2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, tokens):
            x = self.words(tokens) + self.places(t.arange(tokens.shape[1], device=tokens.device))
            return self.head(self.norm(self.blocks(x)))

    return GPT(), words


def training(t, model, data, target, optimizer):
    def step():
        optimizer.zero_grad()
        output = model(data)
        t.nn.functional.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1)).backward()
        optimizer.step()
    return step


def resnet_step(t):
    t.manual_seed(0)
    model, edge = resnet18(t).to("cuda"), size(224, 32)
    data, target = t.randn(size(32, 2), 3, edge, edge).to("cuda"), t.randint(0, 1000, (size(32, 2),)).to("cuda")
    return training(t, model, data, target, t.optim.SGD(model.parameters(), 0.1, momentum=0.9))


def gpt_step(t):
    t.manual_seed(0)
    model, words = gpt(t)
    model, tokens = model.to("cuda"), t.randint(0, words, (size(4, 2), size(1024, 8))).to("cuda")
    return training(t, model, tokens, tokens, t.optim.AdamW(model.parameters(), 1e-4))


def of_vector(function):
    def make(t):
        x = t.rand(size(1 << 24, 100)).to("cuda")
        return lambda: function(t, x)
    return make


def softmax(t):
    x = t.rand(size(1 << 12, 4), size(1 << 12, 8)).to("cuda")
    return lambda: t.softmax(x, -1)


def product(dtype):
    def make(t):
        n = size(4096, 16)
        a, b = (t.rand(n, n).to("cuda").to(getattr(t, dtype)) for _ in range(2))
        return lambda: a @ b
    return make


def convolution(t):
    conv, x = t.nn.Conv2d(64, 64, 3, padding=1).to("cuda"), t.rand(size(32, 1), 64, size(56, 8), size(56, 8)).to("cuda")

    def run():
        with t.no_grad():
            return conv(x)
    return run


def attention(t):
    q, k, v = (t.rand(size(8, 1), size(16, 2), size(1024, 8), 64).to("cuda").to(t.bfloat16) for _ in range(3))
    return lambda: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def small_add(t):
    a, b = t.ones(16).to("cuda"), t.ones(16).to("cuda")

    def run():
        for _ in range(100):
            a + b
    return run


# name: (function(library) -> what is timed, runs in a round, how it is scaled, the most that PyTorch's time may be exceeded by)
CASES = {
    "add, 2²⁴": (of_vector(lambda t, x: x + x), 50, 1, 1.1), "exp, 2²⁴": (of_vector(lambda t, x: t.exp(x)), 50, 1, 1.1),
    "sum, 2²⁴": (of_vector(lambda t, x: x.sum()), 50, 1, 1.1), "softmax, 2¹²×2¹²": (softmax, 50, 1, 1.1),
    "float32 product, 4096²": (product("float32"), 10, 1, 1.1), "bfloat16 product, 4096²": (product("bfloat16"), 30, 1, 1.1),
    "convolution 3×3, 32×64×56²": (convolution, 20, 1, 1.3), "bfloat16 attention, causal, 8×16×1024×64": (attention, 20, 1, 1.3),
    "ResNet-18 step, 32×3×224²": (resnet_step, 3, 1, 1.3),
    "GPT step, 12 layers, 768 wide, 4×1024": (gpt_step, 2, 1, 1.3), "launch of a small add": (small_add, 10, 100, 1.0)}


def timed(run, repeat, wait):
    wait()
    begun = time.perf_counter()
    for _ in range(repeat):
        run()
    wait()
    return (time.perf_counter() - begun) / repeat


def in_words(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


part = Part("speed")
torch.backends.cudnn.allow_tf32 = True      # as PyTorch's convolutions by default
theirs = library()
print(f"| {torch.cuda.get_device_name()} | pyx_tensor | PyTorch {theirs.__version__} | ratio | target |\n|---|---:|---:|---:|---:|", flush=True)
for name, (make, repeat, scale, target) in CASES.items():
    if time_is_up():
        part.left_out.append(name)
        continue
    with part.check(name):
        pairs = [(make(t), t.cuda.synchronize) for t in (torch, theirs)]
        for run, wait in pairs:
            timed(run, 1 if SMALL else 2, wait)
        times = [[timed(run, 1 if SMALL else repeat, wait) / scale for run, wait in pairs] for _ in range(ROUNDS)]
        ours, other = (statistics.median(column) for column in zip(*times))
        print(f"| {name} | {in_words(ours)} | {in_words(other)} | {ours / other:.2f} | {target} |{'' if ours <= target * other else ' above the target'}", flush=True)
        del pairs
        torch.cuda.empty_cache()
        theirs.cuda.empty_cache()
part.end()
