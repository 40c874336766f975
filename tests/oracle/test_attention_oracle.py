"""Attention and Transformers against PyTorch: same seed, same weights, masks, dropout, outputs, gradients and texts."""
import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, assert_close, assert_same_error, both, pair

import pyx_tensor as pt

RNG = np.random.default_rng(0)
MASK = np.array([[True, True, False, True, True], [False] * 5, [True] * 5, [False, False, True, False, True]])


def factors(result, k):
    """Weights that differ for each element of the k-th result."""
    return np.random.default_rng(k).standard_normal(tuple(result.shape)).astype(np.float32)


def check(run, *arrays):
    """`run(library, *tensors)` in both: the same results and gradients, random numbers from one seed."""
    tensors = [pair(array.astype(np.float32), True) for array in arrays]
    outcomes = []
    for i, library in enumerate(LIBRARIES):
        library.manual_seed(1)
        results = run(library, *(p[i] for p in tensors))
        results = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if r is not None]
        sum((r * library.from_numpy(factors(r, k))).sum() for k, r in enumerate(results)).backward()
        outcomes.append(results + [p[i].grad for p in tensors])
    assert len(outcomes[0]) == len(outcomes[1])
    for ours, theirs in zip(*outcomes):
        assert_close(ours, theirs, rtol=1e-4, atol=2e-6)


def qkv(heads=2, keys=5, batch=(3,)):
    return [RNG.standard_normal((*batch, h, steps, size)) for h, steps, size in ((2, 4, 8), (heads, keys, 8), (heads, keys, 6))]


ATTENTION = {
    "plain": {}, "causal": dict(is_causal=True), "scale": dict(scale=0.3), "dropout": dict(dropout_p=0.4), "causal with dropout": dict(dropout_p=0.4, is_causal=True),
    "bool mask": dict(attn_mask=MASK), "float mask": dict(attn_mask=np.where(MASK, 0.5, -np.inf).astype(np.float32)),
    "mask for each head": dict(attn_mask=np.broadcast_to(MASK, (3, 2, 4, 5)).copy()),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_scaled_dot_product_attention(name):
    options = ATTENTION[name]

    def run(t, *tensors):
        given = {k: t.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        return t.nn.functional.scaled_dot_product_attention(*tensors, **given)

    check(run, *qkv())
    check(run, *qkv(batch=())) if "head" not in name else None


def test_grouped_queries():
    check(lambda t, *x: t.nn.functional.scaled_dot_product_attention(*x, enable_gqa=True), *qkv(heads=1))


def test_broadcast_batches():
    q, k, v = qkv()
    check(lambda t, *x: t.nn.functional.scaled_dot_product_attention(*x), q[:1], k, v)


def test_gradient_of_a_mask():
    check(lambda t, *x: t.nn.functional.scaled_dot_product_attention(*x[:3], attn_mask=x[3]), *qkv(), RNG.standard_normal((4, 5)))


def compare_modules(make, run, *arrays):
    ours, theirs = both(make)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for p, q in zip(ours.parameters(), theirs.parameters()):
        assert_close(p, q, rtol=1e-6, atol=1e-7)
    check(lambda t, *x: run(t, ours if t is pt else theirs, *x), *arrays)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters()):
        assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-5), name


HEADS = {"plain": {}, "no bias": dict(bias=False), "dims": dict(kdim=3, vdim=5), "extra keys": dict(add_bias_kv=True, add_zero_attn=True),
         "dropout": dict(dropout=0.3), "batch first": dict(batch_first=True)}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", HEADS)
def test_multihead_attention(name, need_weights):
    options = HEADS[name]
    query, key, value = (RNG.standard_normal((4, 3, size)) for size in (8, options.get("kdim", 8), options.get("vdim", 8)))
    steps, batch = (3, 4) if options.get("batch_first") else (4, 3)
    padding = np.arange(steps) > np.arange(batch)[:, None] + 1

    def run(t, module, *x):
        causal = t.nn.Transformer.generate_square_subsequent_mask(steps)
        return [*module(*x, need_weights=need_weights),
                *module(*x, need_weights=need_weights, average_attn_weights=False, attn_mask=causal.isinf(), key_padding_mask=t.from_numpy(padding))]

    compare_modules(lambda t: t.nn.MultiheadAttention(8, 2, **options), run, query, key, value)


@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention_of_one_input(need_weights):
    compare_modules(lambda t: t.nn.MultiheadAttention(8, 4), lambda t, module, x: module(x, x, x, need_weights=need_weights), RNG.standard_normal((5, 8)))
    compare_modules(lambda t: t.nn.MultiheadAttention(8, 4), lambda t, module, x, y: module(x, y, y, need_weights=need_weights),
                    RNG.standard_normal((5, 2, 8)), RNG.standard_normal((3, 2, 8)))


BLOCKS = {"plain": {}, "norm first": dict(norm_first=True, activation="gelu"), "no bias": dict(bias=False, batch_first=True)}


@pytest.mark.parametrize("name", BLOCKS)
def test_transformer(name):
    options = BLOCKS[name]
    src, tgt = RNG.standard_normal((5, 3, 8)), RNG.standard_normal((5 if options.get("batch_first") else 4, 3, 8))
    steps = 3 if options.get("batch_first") else 4

    def run(t, module, *x):
        mask = t.nn.Transformer.generate_square_subsequent_mask(steps)
        return module(*x), module.eval()(*x, tgt_mask=mask)

    compare_modules(lambda t: t.nn.Transformer(8, 2, 2, 2, 16, **options), run, src, tgt)


def test_encoder_with_padding():
    padding = np.arange(5) > np.arange(3)[:, None] + 2

    def run(t, module, x):
        return module(x, src_key_padding_mask=t.from_numpy(padding)), module(x, mask=t.nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)

    compare_modules(lambda t: t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(8, 2, 16, activation=t.nn.functional.silu), 2, t.nn.LayerNorm(8)), run,
                    RNG.standard_normal((5, 3, 8)))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("options", [{}, dict(batch_first=False), dict(norm_first=True), dict(activation="gelu"), dict(bias=False)])
@pytest.mark.parametrize("norm", [False, True])
def test_padding_in_evaluation(options, norm):
    """Padded positions give 0 where PyTorch leaves them out: only without gradients, and padding at the end."""
    options = dict(batch_first=True, dropout=0.0) | options
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        model = t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(8, 2, 16, **options), 2, t.nn.LayerNorm(8) if norm else None).eval()
        x, outputs = t.randn(4, 4, 8), []
        if norm:
            t.nn.init.ones_(model.norm.bias)
        for first in (2, 0):
            padding = t.zeros(4, 4).bool()
            padding[1, first:first + 2] = True
            outputs.append(model(x, src_key_padding_mask=padding))
            with t.no_grad():
                outputs.append(model(x, src_key_padding_mask=padding))
        results.append(outputs)
    for ours, theirs in zip(*results):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def zeros(t, *shapes):
    return [t.zeros(shape) for shape in shapes]


ERRORS = {
    "mask and causal": lambda t: t.nn.functional.scaled_dot_product_attention(*zeros(t, *[(2, 3, 4)] * 3), t.zeros(3, 3), is_causal=True),
    "vectors": lambda t: t.nn.functional.scaled_dot_product_attention(*zeros(t, 4, 4, 4)),
    "dtypes": lambda t: t.nn.functional.scaled_dot_product_attention(t.zeros(2, 3, 4), t.zeros(2, 3, 4).double(), t.zeros(2, 3, 4)),
    "dropout": lambda t: t.nn.functional.scaled_dot_product_attention(*zeros(t, *[(2, 3, 4)] * 3), dropout_p=1.5),
    "heads": lambda t: t.nn.MultiheadAttention(5, 2),
    "no features": lambda t: t.nn.MultiheadAttention(0, 1),
    "key and value": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, (2, 3, 4), (2, 3, 4), (2, 3, 5))),
    "features": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, (2, 3, 5), (2, 3, 4), (2, 3, 4))),
    "vector query": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, 4, 4, 4)),
    "value without a batch": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, (2, 3, 4), (2, 3, 4), (3, 4))),
    "size of a mask": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), attn_mask=t.zeros(3, 3)),
    "size of a mask for each head": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), attn_mask=t.zeros(3, 2, 2)),
    "whole numbers as a mask": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), attn_mask=t.zeros(2, 2).int()),
    "vector as a mask": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), attn_mask=t.zeros(2)),
    "padding": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), key_padding_mask=t.zeros(2, 2)),
    "padding of one": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(3, 4)] * 3), key_padding_mask=t.zeros(3, 3)),
    "causal without a mask": lambda t: t.nn.MultiheadAttention(4, 2)(*zeros(t, *[(2, 3, 4)] * 3), is_causal=True),
    "activation": lambda t: t.nn.TransformerEncoderLayer(4, 2, activation="cube"),
    "batches": lambda t: t.nn.Transformer(4, 2, 1, 1, 8)(*zeros(t, (2, 3, 4), (2, 2, 4))),
    "features of a Transformer": lambda t: t.nn.Transformer(4, 2, 1, 1, 8)(*zeros(t, (2, 3, 5), (2, 3, 5))),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_same_error(ERRORS[name])
