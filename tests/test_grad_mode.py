"""Switching recording off and on: blocks, decorators, generators, threads, inference mode."""
import threading

import pytest

import pyx_tensor as torch


def recorded():
    return (torch.ones(1, requires_grad=True) * 2).requires_grad


@pytest.mark.rows("S083", "S084")
def test_blocks_nest():
    assert recorded()
    with torch.no_grad():
        assert not recorded()
        with torch.enable_grad():
            assert recorded() and torch.is_grad_enabled()
            with torch.set_grad_enabled(False):
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


def test_one_object_can_be_entered_again_inside_itself():
    mode = torch.no_grad()
    with mode:
        with torch.enable_grad():
            with mode:
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


@pytest.mark.rows("S083")
def test_blocks_end_with_errors():
    with pytest.raises(KeyError):
        with torch.no_grad():
            raise KeyError
    assert recorded()


@pytest.mark.rows("S085")
def test_set_grad_enabled_acts_at_once():
    torch.set_grad_enabled(False)
    try:
        assert not recorded()
    finally:
        torch.set_grad_enabled(True)
    assert recorded()


@pytest.mark.rows("S083")
@pytest.mark.parametrize("decorate", [torch.no_grad(), torch.no_grad, lambda f: torch.set_grad_enabled(False)(f), torch.inference_mode(),
                                      torch.inference_mode])
def test_decorators(decorate):
    assert recorded()

    @decorate
    def function(x, y=1):
        "doc"
        return recorded(), x, y
    assert function(1, y=2) == (False, 1, 2) and function.__doc__ == "doc" and recorded()

    def recursive(n):
        assert not torch.is_grad_enabled()
        return decorated(n - 1) + 1 if n else 0
    decorated = decorate(recursive)
    assert decorated(3) == 3 and recorded()


def test_generators_are_in_the_mode_only_while_they_run():
    @torch.no_grad()
    def generator():
        got = yield recorded()
        try:
            yield got, recorded()
        except KeyError:
            yield "caught", recorded()
        return "end"
    g = generator()
    assert next(g) is False and recorded()
    assert g.send(5) == (5, False) and recorded()
    assert g.throw(KeyError) == ("caught", False) and recorded()
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "end" and recorded()


def test_closed_generators_clean_up_in_the_mode():
    seen = []

    @torch.no_grad()
    def generator():
        try:
            yield
        finally:
            seen.append(recorded())
    g = generator()
    next(g)
    g.close()
    assert seen == [False] and recorded()


def test_threads_have_modes_of_their_own():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recorded()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode():
    x = torch.ones(2, requires_grad=True)
    normal = torch.ones(2)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        y = x * 2
        normal.add_(1)
        assert y.is_inference() and not y.requires_grad and not normal.is_inference()
        y.mul_(2)
        with torch.inference_mode(False):
            assert recorded()
    assert not torch.is_inference_mode_enabled()
    assert y[:1].is_inference() and not y.clone().is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        y.requires_grad = True
    with pytest.raises(RuntimeError, match="do not track version"):
        y._version
    assert (x + y).requires_grad and (x * y.clone()).requires_grad


def test_tensors_made_in_inference_mode():
    with torch.inference_mode():
        made = [torch.ones(2), torch.tensor([1.]), torch.arange(2.), torch.randn(2), torch.zeros_like(torch.ones(1)), torch.eye(2).new_zeros(1),
                torch.nn.Linear(1, 1).weight]
        made[0].add_(1).requires_grad_()
    for x in made:
        assert x.is_inference()
        for grad_mode in (torch.enable_grad, torch.no_grad):
            with grad_mode(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                x.zero_()
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            x * torch.ones((), requires_grad=True)
    assert made[0].tolist() == [2, 2]
    assert not torch.ones(1).is_inference()


def test_operators_write_no_inference_tensor_outside():
    with torch.inference_mode():
        x = torch.ones(2)
    with torch.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x += torch.ones(2)
    assert x.tolist() == [1, 1]
