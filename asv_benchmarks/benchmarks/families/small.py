"""Small calls: what a call costs, whatever it computes."""
from .base import _Family


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


class Calls(_Family):
    """Everyday calls on a few elements. A case's name is its statement."""
    prepare = """
F = torch.nn.functional
x, m, other, one, batch = torch.ones(10), torch.ones(4, 5), torch.ones(4, 5), torch.tensor(2.0), torch.ones(2, 3, 4)
places, labels, mask, whole = torch.tensor([0, 2, 1]), torch.tensor([0, 1, 2, 1]), torch.ones(10) > 0, torch.arange(10)
image, kernel, leaf, pair = torch.ones(1, 1, 8, 8), torch.ones(1, 1, 3, 3), torch.ones(5, requires_grad=True), [torch.ones(4, 5), torch.ones(4, 5)]
layer, embedding, dropout = torch.nn.Linear(5, 3), torch.nn.Embedding(10, 4), torch.nn.Dropout()
probabilities, model = torch.full((10,), 0.5), torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    cases = {statement: statement for statement in (
        # shapes and views
        "x.shape", "len(x)", "m.reshape(2, 10)", "m.flatten()", "m.t()", "m.permute(1, 0)", "x.expand(3, 10)", "m.squeeze(0)", "x[None]", "m[1, 2]", "m[:, 1]",
        "m.shape[0]", "batch.movedim(0, 1)", "m.chunk(2)", "m.split(2)", "m.unbind()", "m.narrow(0, 1, 2)", "m.contiguous()", "x.detach()",
        # making
        "torch.tensor(1.0)", "torch.tensor([1.0, 2.0])", "torch.zeros(10)", "torch.empty(10)", "torch.full((10,), 2.0)", "torch.arange(10)",
        "torch.linspace(0, 1, 10)", "torch.eye(4)", "torch.rand(10)", "torch.randn(10)", "torch.randint(0, 5, (10,))", "torch.randperm(10)",
        "torch.zeros_like(x)", "torch.full_like(x, 2.0)", "torch.rand_like(x)", "x.new_zeros(3)", "torch.tensor([[1.0, 2.0], [3.0, 4.0]])",
        "x.uniform_()", "torch.bernoulli(probabilities)", "torch.finfo(torch.float32)",
        # copies, conversions, numbers
        "m.clone()", "x.copy_(x)", "x.fill_(1)", "x.zero_()", "x.double()", "x.float()", "x.to('cpu')", "one.item()", "float(one)", "x.tolist()",
        # indexing
        "x[places]", "x[mask]", "m[:, places]", "m[labels, labels]", "x.__setitem__(0, 1.0)", "x.__setitem__(slice(0, 3), 0.0)",
        "x.__setitem__(mask, 1.0)", "x.__setitem__(places, 1.0)", "x.masked_fill(mask, 0.0)", "x.masked_fill_(mask, 1.0)", "m.gather(1, m.long())", "m.index_select(0, places)",
        "x.masked_select(mask)", "torch.nonzero(x)", "torch.where(mask, x, x)",
        # joining and arithmetic
        "torch.cat(pair)", "torch.stack(pair)", "torch.hstack(pair)", "torch.roll(x, 1)", "m.flip(0)", "m.repeat(2, 1)", "F.pad(m, (1, 1))", "1 - x", "x ** 2", "x / 2", "x.add_(0)",
        "x == x", "whole // 3", "x.clamp(0, 1)", "x.clamp_(0, 1)", "torch.equal(x, x)", "torch.allclose(x, x)",
        # reductions and order
        "x.mean()", "m.mean(1)", "x.max()", "m.max(1)", "m.argmax(1)", "x.var()", "m.std(1)", "x.median()", "x.norm()", "mask.any()", "x.cumsum(0)", "x.sort()", "x.topk(3)",
        "torch.unique(labels)",
        # products and networks
        "m.mm(other.t())", "batch.bmm(batch.mT)", "torch.einsum('ij,kj->ik', m, other)", "layer(m)", "embedding(places)", "dropout(m)", "F.relu(x)",
        "F.softmax(m, 1)", "F.log_softmax(m, 1)", "F.layer_norm(m, (5,))", "F.cross_entropy(m, labels)", "F.mse_loss(m, other)", "F.one_hot(labels, 4)",
        "F.conv2d(image, kernel)", "F.max_pool2d(image, 2)", "F.avg_pool2d(image, 2)", "F.interpolate(image, scale_factor=2)", "F.group_norm(image, 1)",
        "F.binary_cross_entropy(probabilities, x)", "(leaf * 2).sum()", "leaf.sum().backward()", "model(m)", "model.state_dict()", "optimizer.zero_grad()")}


class Backward(_Family):
    """A graph of three nodes over ten elements, recorded and walked."""
    prepare = "g = torch.randn(10)\nb = torch.randn(10, requires_grad=True)"
    cases = {"(g * b).sum().backward()": "(g * b).sum().backward()"}


class Import(_Family):
    """A fresh interpreter that imports the library."""
    prepare = "import subprocess, sys"
    cases = {"import": "subprocess.run([sys.executable, '-c', 'import ' + torch.__name__], check=True)"}
    numpy_prepare = prepare
    numpy_cases = {"import": "subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"}
