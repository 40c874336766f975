"""Recurrent layers, cells and packed sequences against PyTorch: same seed, same weights, outputs, gradients and texts."""
import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, assert_close, assert_same_error, both, pair

import pyx_tensor as pt

OPTIONS = {
    "plain": {}, "layers": dict(num_layers=3), "no bias": dict(bias=False, num_layers=2), "both ways": dict(bidirectional=True, num_layers=2),
    "batch first": dict(batch_first=True), "dropout": dict(num_layers=2, dropout=0.4, bidirectional=True),
}
CASES = {f"{kind} {name}": (kind, options) for kind in ("RNN", "LSTM", "GRU") for name, options in OPTIONS.items()}
CASES |= {"RNN with relu": ("RNN", dict(nonlinearity="relu", num_layers=2)), "LSTM projected": ("LSTM", dict(proj_size=2, num_layers=2, bidirectional=True)),
          "RNN of doubles": ("RNN", dict(dtype="float64"))}
LENGTHS = [3, 5, 1, 5]


def make(library, kind, options):
    options = {**options, **({"dtype": getattr(library, options["dtype"])} if "dtype" in options else {})}
    return getattr(library.nn, kind)(3, 4, **options)


def flat(result):
    return [tensor for item in result for tensor in (flat(item) if isinstance(item, (tuple, list)) else [item])]


def outcome(library, model, inputs, run):
    """(results, gradients of parameters and inputs) of `run(library, model, *inputs)`, dropout drawn from one seed."""
    library.manual_seed(1)
    results = flat(run(library, model, *inputs))
    sum((r * r).sum() * (i + 1) for i, r in enumerate(results)).backward()
    return results, [p.grad for p in model.parameters()] + [x.grad for x in inputs]


def compare(kind, options, arrays, run):
    models = both(lambda t: make(t, kind, options))
    dtype = np.dtype(options.get("dtype", "float32"))
    tensors = [pair(a.astype(dtype), True) for a in arrays]
    assert repr(models[0]) == repr(models[1])
    assert list(models[0].state_dict()) == list(models[1].state_dict())
    for ours, theirs in zip(models[0].parameters(), models[1].parameters()):
        assert_close(ours, theirs, rtol=0, atol=0)
    (results, grads), (expected, expected_grads) = (
        outcome(library, model, [p[i] for p in tensors], run) for i, (library, model) in enumerate(zip(LIBRARIES, models)))
    assert len(results) == len(expected)
    for ours, theirs in zip(results + grads, expected + expected_grads):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


RNG = np.random.default_rng(0)
STEPS, BATCH = 5, 4


@pytest.mark.parametrize("name", CASES)
def test_sequences(name):
    kind, options = CASES[name]
    compare(kind, options, [RNG.standard_normal((STEPS, BATCH, 3))], lambda t, model, x: model(x))


@pytest.mark.parametrize("name", CASES)
def test_one_sequence_with_a_state(name):
    kind, options = CASES[name]
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    sizes = [options.get("proj_size") or 4, 4] if kind == "LSTM" else [4]
    states = [RNG.standard_normal((count, size)) for size in sizes]
    compare(kind, options, [RNG.standard_normal((STEPS, 3)), *states],
            lambda t, model, x, *hx: model(x, tuple(hx) if kind == "LSTM" else hx[0]))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", [name for name in CASES if "batch first" not in name])
def test_packed_sequences(name, ordered):
    kind, options = CASES[name]
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    sizes = [options.get("proj_size") or 4, 4] if kind == "LSTM" else [4]
    lengths = sorted(LENGTHS, reverse=True) if ordered else LENGTHS

    def run(t, model, x, *hx):
        packed = t.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=ordered)
        output, state = model(packed, tuple(hx) if kind == "LSTM" else hx[0])
        return output.data, t.nn.utils.rnn.pad_packed_sequence(output, padding_value=-1.0, total_length=6)[0], state

    compare(kind, options, [RNG.standard_normal((STEPS, BATCH, 3)), *(RNG.standard_normal((count, BATCH, size)) for size in sizes)], run)


@pytest.mark.parametrize("kind, options", [("RNNCell", {}), ("RNNCell", dict(nonlinearity="relu", bias=False)), ("GRUCell", {}), ("LSTMCell", {}),
                                           ("LSTMCell", dict(bias=False))])
@pytest.mark.parametrize("shape", [(BATCH,), ()])
def test_cells(kind, options, shape):
    states = [RNG.standard_normal((*shape, 4)) for _ in range(2 if kind == "LSTMCell" else 1)]

    def run(t, model, x, *hx):
        first = model(x)
        second = model(x, tuple(hx) if kind == "LSTMCell" else hx[0])
        return [first, second]

    compare(kind, options, [RNG.standard_normal((*shape, 3)), *states], run)


PACKING = {
    "pack": lambda t, x: t.nn.utils.rnn.pack_padded_sequence(x, [5, 4, 4, 1]),
    "pack out of order": lambda t, x: t.nn.utils.rnn.pack_padded_sequence(x, t.tensor(LENGTHS), enforce_sorted=False),
    "pack batch first": lambda t, x: t.nn.utils.rnn.pack_padded_sequence(x, [4, 3, 3, 2, 1], batch_first=True),
    "pad": lambda t, x: t.nn.utils.rnn.pad_packed_sequence(
        t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False), True, 7.0, 8),
    "pack a list": lambda t, x: t.nn.utils.rnn.pack_sequence([x[:n, 0] for n in (5, 3, 3)]),
    "unpack": lambda t, x: t.nn.utils.rnn.unpack_sequence(t.nn.utils.rnn.pack_sequence([x[:n, 0] for n in (1, 4, 3)], enforce_sorted=False)),
    "pad a list": lambda t, x: t.nn.utils.rnn.pad_sequence([x[:n, 0] for n in (1, 4, 3)], padding_value=2.0),
    "pad a list on the left": lambda t, x: t.nn.utils.rnn.pad_sequence([x[:n, 0] for n in (1, 4, 3)], True, padding_side="left"),
    "unpad": lambda t, x: t.nn.utils.rnn.unpad_sequence(x, t.tensor(LENGTHS)),
    "invert": lambda t, x: [t.nn.utils.rnn.invert_permutation(t.tensor([3, 0, 2, 1]))],
    "to": lambda t, x: t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False).to(t.float64),
    "double": lambda t, x: t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False).double(),
}


@pytest.mark.parametrize("name", PACKING)
def test_packing(name):
    values = np.arange(5 * 4 * 2, dtype=np.float32).reshape(5, 4, 2)
    ours, theirs = (PACKING[name](t, x) for t, x in zip(LIBRARIES, pair(values)))
    if "pack" in name and "un" not in name:
        assert repr(ours) == repr(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(flat(ours), flat(theirs)):
        assert (a is None) == (b is None)
        if a is not None:
            assert_close(a, b)


def zeros(t, *shape):
    return t.zeros(shape)


ERRORS = {
    "1-d input": lambda t: t.nn.LSTM(3, 4)(zeros(t, 2)),
    "4-d input": lambda t: t.nn.GRU(3, 4)(zeros(t, 2, 2, 2, 3)),
    "features": lambda t: t.nn.RNN(3, 4)(zeros(t, 2, 2, 4)),
    "state of a batch": lambda t: t.nn.LSTM(3, 4)(zeros(t, 2, 3, 3), (zeros(t, 1, 3, 4), zeros(t, 1, 4))),
    "state of one": lambda t: t.nn.GRU(3, 4)(zeros(t, 2, 3), zeros(t, 1, 3, 4)),
    "size of h": lambda t: t.nn.LSTM(3, 4)(zeros(t, 2, 3, 3), (zeros(t, 1, 2, 4), zeros(t, 1, 3, 4))),
    "size of c": lambda t: t.nn.LSTM(3, 4)(zeros(t, 2, 3, 3), (zeros(t, 1, 3, 4), zeros(t, 1, 2, 4))),
    "size of a state": lambda t: t.nn.GRU(3, 4)(zeros(t, 2, 3, 3), zeros(t, 1, 2, 4)),
    "dtype": lambda t: t.nn.GRU(3, 4)(zeros(t, 2, 3, 3).double()),
    "no steps": lambda t: t.nn.GRU(3, 4)(zeros(t, 0, 3, 3)),
    "dropout": lambda t: t.nn.GRU(3, 4, dropout=1.5),
    "hidden size": lambda t: t.nn.LSTM(3, 0),
    "hidden size of a wrong type": lambda t: t.nn.LSTM(3, 4.0),
    "layers": lambda t: t.nn.LSTM(3, 4, num_layers=0),
    "projection of a GRU": lambda t: t.nn.GRU(3, 4, proj_size=2),
    "negative projection": lambda t: t.nn.LSTM(3, 4, proj_size=-1),
    "large projection": lambda t: t.nn.LSTM(3, 4, proj_size=4),
    "nonlinearity": lambda t: t.nn.RNN(3, 4, nonlinearity="cube"),
    "nonlinearity of a cell": lambda t: t.nn.RNNCell(3, 4, nonlinearity="cube")(zeros(t, 2, 3)),
    "cell of a sequence": lambda t: t.nn.LSTMCell(3, 4)(zeros(t, 2, 2, 3)),
    "features of a cell": lambda t: t.nn.GRUCell(3, 4)(zeros(t, 2, 4)),
    "batch of a cell": lambda t: t.nn.GRUCell(3, 4)(zeros(t, 2, 3), zeros(t, 3, 4)),
    "state of a cell": lambda t: t.nn.LSTMCell(3, 4)(zeros(t, 2, 3), (zeros(t, 2, 5), zeros(t, 2, 5))),
    "state of a cell without a pair": lambda t: t.nn.LSTMCell(3, 4)(zeros(t, 2, 3), zeros(t, 2, 4)),
    "order of lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(zeros(t, 3, 2, 1), [2, 3]),
    "zero length": lambda t: t.nn.utils.rnn.pack_padded_sequence(zeros(t, 3, 2, 1), [3, 0]),
    "number of lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(zeros(t, 3, 2, 1), [3, 1, 1]),
    "nothing to pack": lambda t: t.nn.utils.rnn.pack_padded_sequence(zeros(t, 0, 2, 1), [1, 1]),
    "total length": lambda t: t.nn.utils.rnn.pad_packed_sequence(t.nn.utils.rnn.pack_sequence([zeros(t, 3)]), total_length=1),
    "nothing to pad": lambda t: t.nn.utils.rnn.pad_sequence([]),
    "side of padding": lambda t: t.nn.utils.rnn.pad_sequence([zeros(t, 2)], padding_side="x"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_same_error(ERRORS[name])


def test_a_length_beyond_the_input_is_refused():
    """PyTorch packs memory that isn't the sequence's."""
    with pytest.raises(RuntimeError, match="lengths holds 4, but the sequences have 3 steps"):
        pt.nn.utils.rnn.pack_padded_sequence(pt.zeros(3, 2, 1), [4, 1])


def test_functional_forms():
    """torch.lstm and its relatives, by both ways to call them."""
    models = both(lambda t: t.nn.LSTM(3, 4, 2, bidirectional=True))
    results = []
    for t, model in zip(LIBRARIES, models):
        x, h, c = (t.from_numpy(a) for a in (np.linspace(-1, 1, 30, dtype=np.float32).reshape(5, 2, 3), np.zeros((4, 2, 4), np.float32),
                                             np.ones((4, 2, 4), np.float32)))
        weights = [p for p in model.parameters()]
        packed = t.nn.utils.rnn.pack_padded_sequence(x, [5, 3])
        results.append([*t.lstm(x, (h, c), weights, True, 2, 0.0, False, True, False),
                        *t.lstm(packed.data, packed.batch_sizes, (h, c), weights, True, 2, 0.0, False, True)])
    for a, b in zip(*results):
        assert_close(a, b)
