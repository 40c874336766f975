"""Modules: attributes, state, hooks, containers."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.first(x) * self.scale


def values(tensor):
    return tensor.detach().numpy()


@pytest.mark.rows("S191", "S193")
def test_attributes_go_where_they_belong():
    net = Net()
    assert set(net._parameters) == {"scale"}
    assert set(net._buffers) == {"count", "scratch"}
    assert set(net._modules) == {"first"}
    assert not {"scale", "count", "first"} & set(vars(net))
    assert {"scale", "count", "first"} <= set(dir(net))
    net.scale = None
    assert net.scale is None and "scale" in net._parameters
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias"]


def test_an_assignment_of_another_kind_moves_the_name():
    net = Net()
    net.count = nn.Parameter(torch.ones(1))
    assert "count" in net._parameters and "count" not in net._buffers


def test_module_in_place_of_a_parameter_is_refused():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign .* as parameter 'scale'"):
        net.scale = nn.Linear(1, 1)
    del net.scale
    net.scale = nn.Linear(1, 1)
    assert "scale" in net._modules


def test_buffers_by_assignment():
    net = Net()
    net.kept = nn.Buffer(torch.ones(2))
    net.dropped = nn.Buffer(torch.ones(2), persistent=False)
    assert isinstance(net.kept, nn.Buffer) and type(net.kept) is torch.Tensor
    assert "kept" in net.state_dict() and "dropped" not in net.state_dict()
    net.kept = torch.zeros(2)
    assert values(net.state_dict()["kept"]).tolist() == [0, 0]


@pytest.mark.rows("S192")
def test_assignment_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value
            super().__init__()

    for value, kind in ((nn.Parameter(torch.ones(1)), "parameters"), (nn.ReLU(), "module")):
        with pytest.raises(AttributeError, match=f"cannot assign {kind} before Module.__init__"):
            Early(value)
    assert not hasattr(Early(5), "value") or Early(5).value == 5


@pytest.mark.rows("S152")
def test_state_dict_shares_memory_and_loads_by_copy():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "count", "first.weight", "first.bias"]
    assert not any(tensor.requires_grad for tensor in state.values()) and {type(tensor) for tensor in state.values()} == {torch.Tensor}
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    with torch.no_grad():
        net.scale.mul_(3)
    assert values(state["scale"]).tolist() == [3, 3, 3]
    before = other.scale
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other.scale is before and values(other.scale).tolist() == [3, 3, 3]
    with torch.no_grad():
        net.scale.zero_()
    assert values(other.scale).tolist() == [3, 3, 3]


def test_load_state_dict_by_assignment():
    net = Net()
    state = {name: torch.ones_like(tensor).double() for name, tensor in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.scale.dtype == torch.float64 and isinstance(net.scale, nn.Parameter) and net.scale.requires_grad
    assert net.count is state["count"]


@pytest.mark.rows("S153")
def test_a_failing_load_reports_everything_and_keeps_the_rest():
    net = Net()
    state = net.state_dict()
    del state["count"]
    state.update({"surprise": torch.ones(1), "first.weight": torch.ones(7, 7), "scale": torch.full((3,), 5.0)})
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert text.startswith("Error(s) in loading state_dict for Net:\n\t")
    assert 'Missing key(s) in state_dict: "count". ' in text
    assert 'Unexpected key(s) in state_dict: "surprise". ' in text
    assert "size mismatch for first.weight" in text and "[7, 7]" in text and "[3, 2]" in text
    result = net.load_state_dict({"scale": torch.zeros(3), "x": torch.ones(1)}, strict=False)
    assert result.unexpected_keys == ["x"] and result.missing_keys == ["count", "first.weight", "first.bias"]
    assert values(net.scale).tolist() == [0, 0, 0]


def test_extra_state():
    class Counting(nn.Module):
        seen = 0

        def get_extra_state(self):
            return {"seen": self.seen}

        def set_extra_state(self, state):
            self.seen = state["seen"]

    module, other = nn.Sequential(Counting()), nn.Sequential(Counting())
    module[0].seen = 7
    other.load_state_dict(module.state_dict())
    assert other[0].seen == 7
    with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 3})


def test_state_hooks_in_order():
    net, calls = Net(), []
    net.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(("pre", prefix)))
    net.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(other=state.pop("count")))
    net.register_load_state_dict_pre_hook(lambda module, state, *rest: state.update(count=torch.full((1,), 9.0)))
    handle = net.register_load_state_dict_post_hook(lambda module, keys: calls.append(("post", keys.missing_keys)))
    state = net.state_dict()
    assert "count" not in state and state.pop("other") is not None
    net.load_state_dict(state)
    assert net.count.item() == 9 and calls == [("pre", ""), ("post", [])]
    handle.remove()
    net.load_state_dict(state)
    assert len(calls) == 2


def test_forward_hooks():
    layer, calls = nn.Identity(), []
    handles = [
        layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,)),
        layer.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] * 2,), kwargs), with_kwargs=True, prepend=True),
        layer.register_forward_hook(lambda module, args, output: calls.append(output.item())),
        layer.register_forward_hook(lambda module, args, kwargs, output: output * 10, with_kwargs=True),
    ]
    assert layer(torch.tensor(3.0)).item() == 70 and calls == [7]
    for handle in handles:
        handle.remove()
    assert layer(torch.tensor(3.0)).item() == 3
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        layer.register_forward_pre_hook(lambda module, args, kwargs: 5, with_kwargs=True)
        layer(torch.tensor(3.0))


def test_forward_hook_that_is_always_called():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    module, calls = Failing(), []
    module.register_forward_hook(lambda *args: calls.append("never"))
    module.register_forward_hook(lambda module, args, output: calls.append(output), always_call=True)
    with pytest.raises(KeyError, match="inside"):
        module(1)
    assert calls == [None]

    module.register_forward_hook(lambda *args: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(KeyError, match="inside"):
        module(1)


def test_global_hooks():
    from pyx_tensor.nn.modules import module as m
    calls = []
    handles = [m.register_module_forward_pre_hook(lambda module, args: calls.append("pre")),
               m.register_module_forward_hook(lambda module, args, output: calls.append("post")),
               m.register_module_parameter_registration_hook(lambda module, name, value: calls.append(name)),
               m.register_module_module_registration_hook(lambda module, name, value: calls.append(name)),
               m.register_module_buffer_registration_hook(lambda module, name, value: calls.append(name))]
    try:
        Net()
        nn.ReLU()(torch.ones(1))
    finally:
        for handle in handles:
            handle.remove()
    assert calls == ["weight", "bias", "first", "scale", "count", "scratch", "pre", "post"]
    nn.ReLU()(torch.ones(1))
    assert len(calls) == 8


def test_full_backward_hooks_see_and_change_gradients():
    layer, seen = nn.Linear(2, 1, bias=False), []

    def hook(module, grad_input, grad_output):
        seen.append((grad_input, grad_output))
        return (grad_input[0] * 10, None)

    layer.forward = lambda x, flag: nn.functional.linear(x, layer.weight)
    layer.register_full_backward_hook(hook)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x, "text").sum().backward()
    (grad_input, grad_output), = seen
    assert values(grad_output[0]).tolist() == [[2]] and grad_input[1] is None
    np.testing.assert_allclose(values(x.grad), values(layer.weight) * 20, rtol=1e-6)
    np.testing.assert_allclose(values(layer.weight.grad), [[2, 2]])


def test_backward_hooks_of_two_kinds_exclude_each_other():
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        layer.register_backward_hook(lambda *args: None)


@pytest.mark.rows("S193")
def test_conversion_keeps_parameters_and_gradients():
    net = Net()
    parameter = net.scale
    net(torch.ones(1, 2)).sum().backward()
    assert net.double() is net
    assert net.scale is parameter and parameter.dtype == torch.float64 == net.count.dtype
    assert parameter.grad.dtype == torch.float64 and parameter.is_leaf and parameter.requires_grad
    net.register_buffer("index", torch.tensor([1, 2]))
    net.to(torch.float16)
    assert net.index.dtype == torch.int64 and net.scale.dtype == torch.float16
    net.to(torch.ones(1))
    assert net.scale.dtype == torch.float32
    net.bfloat16().float().half().to("cpu", torch.float64)
    assert net.scale.dtype == torch.float64
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(torch.int32)


def test_modes_and_gradients():
    net = Net()
    assert net.training and net.first.training
    assert net.eval() is net and not net.first.training
    net.train()
    assert net.first.training
    net(torch.ones(1, 2)).sum().backward()
    gradient = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is gradient and not values(gradient).any()
    net.zero_grad()
    assert net.scale.grad is None
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    names = []
    net.apply(lambda module: names.append(type(module).__name__))
    assert names == ["Linear", "Net"]


@pytest.mark.rows("S381")
def test_copies():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(other.state_dict()) == list(net.state_dict())
        for p, q in zip(net.parameters(), other.parameters()):
            assert isinstance(q, nn.Parameter) and q.requires_grad and p is not q
            assert values(p).tobytes() == values(q).tobytes()
    tied = nn.Sequential(net.first, net.first)
    assert len(list(copy.deepcopy(tied).parameters())) == 2
    shallow = copy.copy(net)
    assert shallow.scale is net.scale


def test_no_reference_cycles():
    net = Net()
    ref = weakref.ref(net)
    gc.disable()
    try:
        net(torch.ones(1, 2)).sum().backward()
        del net
        assert ref() is None
    finally:
        gc.enable()


@pytest.mark.rows("S364")
def test_sequential():
    a, b, c = nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)
    model = nn.Sequential(a, b)
    assert model.append(c) is model and len(model) == 3 and model[-1] is c and list(model) == [a, b, c]
    assert isinstance(model[:2], nn.Sequential) and list(model[:2]) == [a, b]
    del model[1]
    assert list(model._modules) == ["0", "1"] and list(model) == [a, c]
    model.insert(1, b)
    assert list(model) == [a, b, c]
    model[1] = nn.Tanh()
    assert isinstance(model[1], nn.Tanh) and model.pop(1) is not b
    assert list(nn.Sequential(a) + nn.Sequential(b)) == [a, b] and list(nn.Sequential(b) * 3) == [b, b, b]
    model *= 2
    assert list(model) == [a, c, a, c]
    assert model(torch.ones(5, 1)).shape == (5, 1)
    from collections import OrderedDict
    assert nn.Sequential(OrderedDict(x=a, y=b)).x is a


def test_module_list_and_dict():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    modules = nn.ModuleList([a])
    modules += [b]
    modules.insert(0, c)
    assert list(modules) == [c, a, b] and list(modules[1:]) == [a, b] and modules.pop(0) is c
    del modules[0]
    assert list(modules._modules) == ["0"] and modules[0] is b
    assert list(modules + [a]) == [b, a]
    named = nn.ModuleDict({"a": a})
    named["b"] = b
    named.update([("c", c)])
    assert list(named) == ["a", "b", "c"] and "b" in named and named.pop("a") is a and len(named) == 2
    named.clear()
    assert not len(named)


def test_parameter_containers():
    weights = nn.ParameterList([torch.zeros(2), nn.Parameter(torch.ones(1)), "text"])
    assert isinstance(weights[0], nn.Parameter) and weights[-1] == "text" and len(list(weights.parameters())) == 2
    weights[0] = torch.ones(3)
    assert weights[0].shape == (3,) and list(weights.state_dict()) == ["0", "1"] and all(p.requires_grad for p in weights.parameters())
    table = nn.ParameterDict({"a": torch.zeros(2)})
    table["b"] = torch.ones(1)
    assert list(table) == ["a", "b"] and table.get("z") is None and list((table | {"c": 5}).keys()) == ["a", "b", "c"]
    assert isinstance(table.pop("a"), nn.Parameter) and table.popitem()[0] == "b" and not len(table)
    assert table.setdefault("q", torch.zeros(1)) is table["q"]
    assert list(table.fromkeys(["u", "v"], 3).items()) == [("u", 3), ("v", 3)]


def test_access_by_path():
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1)), nn.BatchNorm1d(1))
    assert model.get_submodule("0.0") is model[0][0] and model.get_submodule("") is model
    assert model.get_parameter("0.0.weight") is model[0][0].weight
    assert model.get_buffer("1.running_mean") is model[1].running_mean
    model.set_submodule("0.0", nn.ReLU())
    assert isinstance(model[0][0], nn.ReLU)


def test_parameters_share_memory_with_their_data():
    data = torch.zeros(2)
    parameter = nn.Parameter(data)
    data[0] = 5
    assert values(parameter).tolist() == [5, 0] and parameter.requires_grad and parameter.is_leaf
    assert repr(parameter) == "Parameter containing:\ntensor([5., 0.], requires_grad=True)"
    assert not nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    with torch.no_grad():
        assert nn.Parameter(torch.ones(1)).requires_grad
    assert type(parameter + 1) is torch.Tensor


def test_attribute_rules_of_ones_own():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    class Refined(Net):
        @property
        def doubled(self):
            return self.scale * 2

        @property
        def broken(self):
            return self.absent

    wrapper = Wrapper(Net())
    assert wrapper.scale is wrapper.inner.scale and wrapper.inner is wrapper._modules["inner"]
    net = Refined()
    assert values(net.doubled).tolist() == [2, 2, 2] and nn.Module.__getattr__(net, "scale") is net.scale
    for name in ("broken", "absent"):
        with pytest.raises(AttributeError, match="'Refined' object has no attribute"):
            getattr(net, name)
    Refined.__getattr__ = lambda self, name: "patched"  # a later change counts too
    assert net.absent == "patched"


@pytest.mark.parametrize("activation", [nn.ReLU(True), nn.LeakyReLU(0.2, True), nn.ELU(inplace=True)], ids=repr)
def test_an_in_place_activation_may_follow_batch_norm(activation):
    """The output that is written to is one of several, of which the gradient needs others alone."""
    torch.manual_seed(0)
    plain = copy.deepcopy(activation)
    plain.inplace = False
    grads = []
    for last in (activation, plain):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), last, nn.Linear(4, 1))
        net(torch.linspace(-1, 1, 15).reshape(5, 3)).pow(2).sum().backward()
        grads.append([p.grad.tolist() for p in net.parameters()])
    assert grads[0] == grads[1]
