"""A run that goes on in the other library, from the file of a checkpoint: it ends as one that PyTorch makes alone."""
import io

import numpy as np
import pytest
import torch

import pyx_tensor as pt

STEPS, UNUSED = 7, 4     # one of the parameters has no gradient in the steps before UNUSED
RUNS = {
    "SGD": dict(momentum=0.9, nesterov=True, weight_decay=0.1, maximize=True), "Adam": dict(amsgrad=True), "AdamW": {},
    "NAdam": dict(decoupled_weight_decay=True), "RAdam": {}, "RMSprop": dict(centered=True, momentum=0.5), "Rprop": {},
    "Adagrad": dict(lr_decay=0.1, initial_accumulator_value=0.2), "Adadelta": {}, "Adamax": {}, "ASGD": dict(t0=2), "Adafactor": {}, "Muon": {},
    "LBFGS": dict(max_iter=3, history_size=3), "LBFGS by strong Wolfe": dict(line_search_fn="strong_wolfe", max_iter=2), "SparseAdam": {}}


def start(t, name, dtype):
    """The parameters and their optimizer."""
    values = [np.cos(np.arange(12.0)).reshape(4, 3), np.sin(np.arange(3.0)), np.zeros(2)]
    factor = 1 + 2j if dtype == "complex128" else 1
    params = [t.nn.Parameter(t.tensor(value * factor)) for value in (values[:1] if name == "Muon" else values)]
    return params, getattr(t.optim, name.split()[0])(params, lr=0.05, **RUNS[name])


def go_on(name, params, optimizer, first, last):
    """Make the steps `first` … `last` - 1."""
    target = 0.0 if name.startswith("LBFGS") else 0.3
    for step in range(first, last):
        def closure():
            optimizer.zero_grad()
            loss = sum((p * (j + 1) - target * step).abs().square().sum() + 0.1 * (p.abs()**3).sum()     # noqa: B023
                       for j, p in enumerate(params[:2 if step < UNUSED else 3]))                       # noqa: B023
            loss.backward()
            for p in params if name == "SparseAdam" else ():
                p.grad = p.grad if p.grad is None else p.grad.to_sparse(1)
            return loss

        if name.startswith("LBFGS"):
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()


def numbers(params):
    return np.concatenate([p.detach().numpy().ravel() for p in params])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_in_the_other_library(name, dtype):
    if dtype == "complex128" and name in ("Adafactor", "Muon", "SparseAdam"):
        with pytest.raises((ValueError, RuntimeError)):
            go_on(name, *start(pt, name, dtype), 0, 1)
        return
    alone, optimizer = start(torch, name, dtype)
    go_on(name, alone, optimizer, 0, STEPS)
    for first, second in ((pt, torch), (torch, pt)):
        for stop in (0, 1, 3, 5):
            params, optimizer = start(first, name, dtype)
            go_on(name, params, optimizer, 0, stop)
            file = io.BytesIO()
            first.save({"params": [p.detach() for p in params], "optimizer": optimizer.state_dict()}, file)
            file.seek(0)
            saved = second.load(file)
            params, optimizer = start(second, name, dtype)
            with second.no_grad():
                for p, value in zip(params, saved["params"]):
                    p.copy_(value)
            optimizer.load_state_dict(saved["optimizer"])
            go_on(name, params, optimizer, stop, STEPS)
            tolerance = 2e-2 if name == "Muon" else 1e-9       # Muon rounds its products to bfloat16
            np.testing.assert_allclose(numbers(params), numbers(alone), rtol=tolerance, atol=tolerance)
