"""Whole training steps, and the optimizers alone."""
from .base import _Family


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
wide = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 10))
wide_in_bfloat16 = torch.autocast("cpu", torch.bfloat16)(wide)
wide_step = training_step(wide_in_bfloat16, torch.optim.AdamW(wide.parameters()), torch.randn(256, 512), nn.CrossEntropyLoss(), torch.randint(0, 10, (256,)))
"""
    cases = {"MLP 4-64-64-2, batch 32, Adam": "small_step()", "MLP 784-128-10, batch 64, SGD": "digits_step()",
             "CNN 32-64-128-10, batch 64, SGD": "images_step()", "MLP 512-2048-512-10, batch 256, autocast to bfloat16, AdamW": "wide_step()"}


class Residual(_Family):
    """ResNet-18: a training step on 8 images of 64 x 64, and the answer to one of 224 x 224."""
    prepare = """
nn = torch.nn

class Block(nn.Module):
    def __init__(self, channels, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if channels != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(channels, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))

def resnet():
    widths = (64, 64, 128, 256, 512)
    blocks = [Block(i if first else o, o, 2 if first and i != o else 1) for i, o in zip(widths, widths[1:]) for first in (True, False)]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))

learning, answering = resnet(), resnet().eval()
optimizer = torch.optim.SGD(learning.parameters(), lr=0.01, momentum=0.9)
images, labels, image = torch.randn(8, 3, 64, 64), torch.randint(0, 1000, (8,)), torch.randn(1, 3, 224, 224)

def residual_step():
    optimizer.zero_grad()
    nn.functional.cross_entropy(learning(images), labels).backward()
    optimizer.step()

def answer():
    with torch.no_grad():
        return answering(image)
"""
    cases = {"training step, 8 of 64 x 64": "residual_step()", "inference, 1 of 224 x 224": "answer()"}


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


class Optimizers(_Family):
    """One step over 100 parameters of 8 x 8, and over one of ten million elements. SparseAdam has gradients for every fourth row; L-BFGS
    minimizes a weighted sum of squares anew."""
    names = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor", "Muon",
             "SparseAdam", "LBFGS")
    prepare = f"""
def step_of(name, count, rows, columns):
    parameters = [torch.nn.Parameter(torch.randn(rows, columns)) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(rows, columns)
        if name == "SparseAdam":
            places = torch.arange(0, rows, 4)
            parameter.grad = torch.sparse_coo_tensor(places[None], parameter.grad[places], (rows, columns), check_invariants=False)
    if name == "LBFGS":
        return minimization(parameters)
    return getattr(torch.optim, name)(parameters).step

def minimization(parameters):
    weights, starts = [torch.rand_like(p) + 0.5 for p in parameters], [p.detach().clone() for p in parameters]

    def loss_and_gradients():
        with torch.no_grad():
            for parameter, weight in zip(parameters, weights):
                torch.mul(parameter, weight, out=parameter.grad)
            return (parameters[0] * parameters[0]).sum()

    def step():
        with torch.no_grad():
            for parameter, start in zip(parameters, starts):
                parameter.copy_(start)
        torch.optim.LBFGS(parameters, lr=0.1, max_iter=10).step(loss_and_gradients)
    return step

small = {{name: step_of(name, 100, 8, 8) for name in {names}}}
large = {{}}

def large_step(name):
    if name not in large:
        large.clear()
        large[name] = step_of(name, 1, 2500, 4000)
    large[name]()
"""
    cases = {**{f"{name}, 100 small": f"small[{name!r}]()" for name in names}, **{f"{name}, 10 M": f"large_step({name!r})" for name in names}}
