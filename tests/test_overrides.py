"""`__torch_function__`: subclasses in all forms of operations, foreign types, modes, and the helpers of `torch.overrides`."""
import collections
import inspect
import pickle

import pytest

import pyx_tensor as torch
from pyx_tensor import overrides

SEEN = []


class Marked(torch.Tensor):
    pass


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        SEEN.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Foreign:
    """No tensor, but an operand."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def test_results_of_all_forms_are_of_the_subclass():
    x = torch.ones(2, 3).as_subclass(Marked)
    for result in (x[0], x[:, 1], x[x > 0], x + 1, 1 - x, x.add_(1), x.T, x.view(6), x.unbind(0)[1], torch.zeros_like(x), torch.full_like(x, 2),
                   torch.add(x, 1, out=torch.empty(2, 3)), x.clamp_(0, 1)):
        assert type(result) is Marked or result.data_ptr() != x.data_ptr() and type(result) is Marked
    assert type(x.sum()) is Marked and type(x.tolist()) is list


def test_in_place_out_and_indexing_ask():
    x = torch.zeros(3).as_subclass(Logged)
    assert x.add_(1) is x
    x += 1
    x[0] = 5
    assert x.tolist() == [5, 2, 2]
    x.copy_(torch.ones(3)).fill_(2).clamp_(0, 1)
    torch.exp(torch.zeros(3), out=x)
    x[0]
    assert SEEN == ["add_", "add_", "__setitem__", "tolist", "copy_", "fill_", "clamp_", "exp", "__getitem__"] and x.tolist() == [1, 1, 1]


def test_foreign_operands():
    thing = Foreign()
    func, types, args, kwargs = torch.add(thing, 2)
    assert func is torch.add and types == (Foreign,) and args == (thing, 2) and kwargs == {}
    assert torch.cat([torch.ones(1), thing])[0] is torch.cat
    assert torch.zeros_like(thing)[0] is torch.zeros_like
    assert torch.exp(torch.ones(2), out=Foreign())[3].keys() == {"out"}
    assert torch.nn.functional.relu(thing)[1] == (Foreign,)


def test_who_declines():
    class Never:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented
    with pytest.raises(TypeError, match="no implementation found for 'add_'.*Never"):
        torch.ones(1).add_(Never())


def _with_foreign_operands(function):
    """What a function makes of an object with a handler for each parameter that it requires."""
    parameters = inspect.signature(function).parameters.values()
    operands = [Foreign() for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return function(*(operands or [Foreign()]))


IN_PLACE = ("relu_", "elu_", "leaky_relu_", "threshold_", "hardtanh_")       # operations' forms
FUNCTIONAL = {name: f for name, f in vars(torch.nn.functional).items() if callable(f) and not name.startswith("_") and name not in IN_PLACE}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functions_of_nn_ask_before_they_do_anything(name):
    function = FUNCTIONAL[name]
    if hasattr(function, "op"):
        assert function in overrides.get_overridable_functions()[torch] or function in overrides.get_overridable_functions()[torch.nn.functional]
        return
    assert _with_foreign_operands(function)[0] is function
    assert overrides.resolve_name(function) in (f"torch.nn.functional.{name}", f"torch.{name}")
    assert function in overrides.get_overridable_functions()[torch.nn.functional] or overrides.resolve_name(function) == f"torch.{name}"


@pytest.mark.parametrize("name", [
    "atleast_1d", "block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul", "detach", "einsum", "get_device", "gru", "hspmm",
    "is_complex", "is_floating_point", "isin", "kl_div", "lobpcg", "lstm", "lstm_cell", "meshgrid", "native_dropout", "numel", "pca_lowrank",
    "squeeze_copy", "svd_lowrank", "batch_norm", "triplet_margin_loss", "view_copy"])
def test_functions_without_an_operation_ask(name):
    function = getattr(torch, name)
    assert _with_foreign_operands(function)[0] is function


def test_keywords_and_lists_are_asked_too():
    assert torch.nn.functional.mse_loss(torch.ones(1), target=Foreign())[0] is torch.nn.functional.mse_loss
    assert torch.meshgrid([Foreign()])[0] is torch.meshgrid
    x = torch.nn.functional.mse_loss(torch.ones(2).as_subclass(Marked), torch.zeros(2))
    assert type(x) is Marked and x == 1
    with pytest.raises(TypeError, match=r"mse_loss\(\): argument 'target' \(position 2\) must be Tensor, not int"):
        torch.nn.functional.mse_loss(torch.ones(1), 3)


class Counting(overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        SEEN.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_every_operation():
    x = torch.ones(2, 2)
    with Counting():
        y = x + x
        y.mul_(2)
        y[0], y.view(4), y.view(2, 2), y.transpose(0, 1), y.T, y.sum()
        torch.zeros_like(y)
    assert SEEN == ["add", "mul_", "__getitem__", "view", "view", "transpose", "permute", "sum", "zeros_like"]
    x + x
    assert len(SEEN) == 9


def test_modes_nest_and_end_with_an_error():
    x = torch.ones(2)
    with Counting(), Counting():
        x.exp()
    assert SEEN == ["exp", "exp"]
    with pytest.raises(ZeroDivisionError):
        with Counting():
            1 / 0
    x.exp()
    assert len(SEEN) == 2 and not overrides.has_torch_function((x,))
    with pytest.raises(NotImplementedError):
        with overrides.TorchFunctionMode():
            x.exp()
    assert x.exp()[0] > 2


def test_helpers():
    assert overrides.has_torch_function((Foreign(),)) and not overrides.has_torch_function((torch.ones(1), torch.nn.Parameter(torch.ones(1))))
    assert overrides.is_tensor_like(Foreign()) and overrides.is_tensor_like(torch.ones(1)) and not overrides.is_tensor_like(3)
    assert overrides.resolve_name(torch.add) == "torch.add" and overrides.resolve_name(len) is None
    assert torch.add in overrides.get_overridable_functions()[torch] and torch.add not in overrides.get_ignored_functions()
    assert torch.manual_seed in overrides.get_ignored_functions()
    assert overrides.resolve_name(torch.Tensor.size) == "torch.Tensor.size" and overrides.is_tensor_method_or_property(torch.Tensor.size)
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert not overrides.is_tensor_method_or_property(torch.Tensor.as_subclass) and not overrides.is_tensor_method_or_property(len)
    stand_in = overrides.get_testing_overrides()[torch.add]
    assert stand_in(1, 2) == -1
    with pytest.raises(TypeError):
        stand_in()

    @overrides.wrap_torch_function(lambda x: (x,))
    def own(x):
        return x * 2
    assert own(torch.tensor(2)) == 4 and own(Foreign())[0] is own
    with pytest.raises(TypeError, match="no implementation"):
        overrides.handle_torch_function(own, (3,), 3)


def test_reentrant_dispatch():
    class Nested(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            SEEN.append(func.__name__)
            if func.__name__ == "exp":
                with overrides.enable_reentrant_dispatch():
                    return args[0] + 1
            return super().__torch_function__(func, types, args, kwargs)
    x = torch.zeros(2).as_subclass(Nested)
    y = x.exp()
    assert SEEN == ["exp", "add"] and y.tolist() == [1, 1]


def test_dims_are_seen_as_they_were_given():
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return args[1]
    index = torch.tensor([0]).as_subclass(Told)
    assert torch.gather(torch.ones(2), -1, index) == -1 and torch.index_select(torch.ones(2, 2), -2, index) == -2


@pytest.mark.parametrize("name,make", [
    ("new_zeros", lambda x: x.new_zeros(2)), ("new_ones", lambda x: x.new_ones((2,), dtype=torch.int64)), ("new_empty", lambda x: x.new_empty(size=(2,))),
    ("new_full", lambda x: x.new_full((2,), 3)), ("new_tensor", lambda x: x.new_tensor([1, 2])),
    ("rand_like", torch.rand_like), ("randn_like", lambda x: torch.randn_like(x, dtype=torch.float64))])
def test_makers_by_example_give_the_examples_type(name, make):
    assert type(make(torch.zeros(2).as_subclass(Marked))) is Marked
    x = torch.zeros(2).as_subclass(Logged)
    SEEN.clear()
    assert type(make(x)) is Logged and SEEN == [name] and make(x).shape == (2,)
    assert make(torch.zeros(2)).dtype is make(x).dtype


def test_modes_see_makers_by_example():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            SEEN.append(func.__name__)
            return func(*args, **kwargs or {})
    SEEN.clear()
    x = torch.zeros(2)
    with Mode():
        assert x.new_zeros(3).shape == (3,) and x.new_full((1,), 2).item() == 2
    assert SEEN == ["new_zeros", "new_full"]


MAKERS = {
    "zeros": lambda: torch.zeros(2), "ones": lambda: torch.ones(2, dtype=torch.int64), "empty": lambda: torch.empty((2, 3)),
    "full": lambda: torch.full((2,), 1.0), "eye": lambda: torch.eye(2), "arange": lambda: torch.arange(3), "range": lambda: torch.range(0, 2),
    "linspace": lambda: torch.linspace(0, 1, 3), "logspace": lambda: torch.logspace(0, 1, 3), "rand": lambda: torch.rand(2),
    "randn": lambda: torch.randn(2), "randint": lambda: torch.randint(3, (2,)), "randperm": lambda: torch.randperm(3),
    "normal": lambda: torch.normal(0.0, 1.0, (2,)), "tensor": lambda: torch.tensor([1]), "as_tensor": lambda: torch.as_tensor([1]),
    "asarray": lambda: torch.asarray([1]), "scalar_tensor": lambda: torch.scalar_tensor(1), "hann_window": lambda: torch.hann_window(3),
    "tril_indices": lambda: torch.tril_indices(2, 2), "empty_strided": lambda: torch.empty_strided((2,), (1,)),
    "normal_": lambda: X.normal_(), "uniform_": lambda: X.uniform_(), "random_": lambda: X.random_(3), "detach": lambda: X.detach(),
    "ones_like": lambda: torch.ones_like(X), "rand_like": lambda: torch.rand_like(X), "new_ones": lambda: X.new_ones(2),
    "new_tensor": lambda: X.new_tensor([1])}
X = torch.zeros(3)


@pytest.mark.parametrize("name", MAKERS)
def test_modes_and_profilers_see_what_makes_tensors_once(name):
    with Counting():
        expected = MAKERS[name]()
    assert SEEN == [name]
    with torch.autograd.profiler.profile() as prof:
        result = MAKERS[name]()
    outermost = [event.name for event in prof.function_events if event.cpu_parent is None]
    assert outermost == ["aten::" + name] and (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert inspect.signature(getattr(torch, name, None) or getattr(torch.Tensor, name))


def test_a_mode_may_change_a_makers_arguments():
    class InDouble(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func in (torch.ones, torch.rand, torch.tensor):
                kwargs = {"dtype": torch.float64, **(kwargs or {})}
            return func(*args, **(kwargs or {}))
    with InDouble():
        assert [make.dtype for make in (torch.ones(2), torch.rand(2), torch.tensor([1]), torch.tensor(1, dtype=torch.int8))] \
            == [torch.float64] * 3 + [torch.int8]
        with pytest.raises(RuntimeError, match="negative dimension"):
            torch.ones(-1)
    assert torch.ones(2).dtype == torch.float32


def test_tensor_copies_a_subclass_to_a_plain_tensor():
    for kind in (Marked, Logged):
        x = torch.ones(2).as_subclass(kind)
        SEEN.clear()
        copies = torch.tensor(x), torch.tensor(x, dtype=torch.int64)
        assert [type(copy) for copy in copies] == [torch.Tensor] * 2 and not SEEN
        assert torch.tensor(x, requires_grad=True).requires_grad


ATTRIBUTES = [
    ("uniform_", (0, 1)), ("normal_", ()), ("random_", (5,)), ("bernoulli_", (0.5,)), ("exponential_", ()), ("detach", ()), ("size", ()), ("size", (0,)),
    ("dim", ()), ("numel", ()), ("stride", ()), ("item", ()), ("tolist", ()), ("numpy", ()), ("data_ptr", ()), ("is_contiguous", ()), ("float", ()),
    ("to", (torch.float64,)), ("requires_grad_", ()), ("cpu", ()), ("type", ()), ("backward", ()), ("__len__", ()), ("__bool__", ()), ("__repr__", ())]


@pytest.mark.parametrize("name,args", ATTRIBUTES)
def test_methods_ask_a_class_with_a_handler_of_its_own(name, args):
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            SEEN.append((func, types, args))
            return super().__torch_function__(func, types, args, kwargs)
    x = torch.ones(1).as_subclass(Asked).requires_grad_(name in ("backward",))
    SEEN.clear()
    result = getattr(x, name)(*args)
    assert len(SEEN) == 1 and SEEN[0][0] is getattr(torch.Tensor, name) and SEEN[0][1] == (Asked,) and SEEN[0][2][0] is x and SEEN[0][2][1:] == args
    assert type(result) in (Asked, type(getattr(torch.ones(1, requires_grad=True).detach(), name)(*args)) if name != "backward" else type(None))


def test_properties_ask_too():
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            SEEN.append(func)
            return super().__torch_function__(func, types, args, kwargs)
    x = torch.ones(2, 3).as_subclass(Asked)
    assert x.shape == (2, 3) and x.ndim == 2 and x.dtype is torch.float32 and x.is_leaf and x.layout is torch.strided and type(x.data) is Asked
    assert SEEN == [getattr(torch.Tensor, name).__get__ for name in ("shape", "ndim", "dtype", "is_leaf", "layout", "data")]
    SEEN.clear()
    x.requires_grad = True
    x.grad = g = torch.zeros(2, 3)
    assert type(x.grad) is torch.Tensor and x.grad is g        # what a property gives that is no new tensor keeps its class
    assert SEEN == [torch.Tensor.requires_grad.__set__, torch.Tensor.grad.__set__, torch.Tensor.grad.__get__, torch.Tensor.grad.__get__]


def test_a_handler_answers_for_attributes():
    class Sized(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "large" if func in (torch.Tensor.size, torch.Tensor.shape.__get__) else super().__torch_function__(func, types, args, kwargs)

        def numel(self):
            return -1
    x = torch.zeros(2).as_subclass(Sized)
    assert x.size() == x.shape == "large" and x.dim() == 1 and x.numel() == -1
    assert (x + 1).size() == "large" and torch.zeros(2).size() == (2,)
    with torch._C.DisableTorchFunctionSubclass():
        assert x.size() == (2,)


def test_modes_see_fills():
    x = torch.empty(2)
    with Counting():
        x.uniform_(), x.normal_(0, generator=torch.Generator()), x.random_(3)
    assert SEEN == ["uniform_", "normal_", "random_"]


def test_a_class_that_wants_no_say():
    class Silent(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
    x = torch.ones(2).as_subclass(Silent)
    assert type(x + x) is torch.Tensor and x.size() == (2,)


def test_subclasses_are_printed_by_name():
    x = torch.arange(4).view(2, 2).as_subclass(Marked)
    assert repr(x) == "Marked([[0, 1],\n        [2, 3]])" and repr(torch.zeros(1).as_subclass(Logged)) == "Logged([0.])"


# --- what only users' calls show ------------------------------------------------------------------------------------------
class Doubling(overrides.TorchFunctionMode):
    """Makes what makes tensors of nothing make float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        SEEN.append(func.__name__)
        if func in (torch.zeros, torch.zeros_like, torch.full, torch.full_like, torch.ones_like):
            kwargs = {**(kwargs or {}), "dtype": torch.float64}
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("function", [
    lambda x: x.sort()[0].sum(), lambda x: x.max(0)[0], lambda x: x.gather(0, torch.tensor([1])).sum(), lambda x: (x * x).prod(), lambda x: x.cummax(0)[0].sum()],
    ids=["sort", "max", "gather", "prod", "cummax"])
def test_modes_do_not_see_derivatives(function):
    x = torch.randn(3, requires_grad=True)
    y = function(x)
    with Doubling():
        y.backward()
    assert x.grad.dtype == torch.float32 and SEEN == []


def test_modes_see_derivatives_that_users_write():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.mul(2)
    x = torch.ones(2, requires_grad=True)
    y = Twice.apply(x).sum()
    with Counting():
        y.backward()
        x.exp()
    assert SEEN == ["mul", "exp"] and x.grad.tolist() == [2, 2]


def test_a_mode_does_not_see_what_a_function_is_made_of():
    x = torch.zeros(1, dtype=torch.int64)
    with Doubling():
        x.fill_(2**60 + 1)
    assert x.item() == 2**60 + 1 and not {"full", "zeros"} & set(SEEN)


def test_a_profiler_under_a_mode_counts_once():
    x = torch.ones(2)
    with torch.autograd.profiler.profile() as prof, Counting():
        x + 1
        torch.rand(2), x.detach(), x.normal_()
    assert sorted(event.key for event in prof.key_averages()) == ["aten::add", "aten::detach", "aten::normal_", "aten::rand"]
    assert all(event.count == 1 for event in prof.key_averages()) and SEEN == ["add", "rand", "detach", "normal_"]


def test_a_handlers_own_errors_are_left_alone():
    class Wrong:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AttributeError("my bug")
    with pytest.raises(AttributeError, match="my bug"):
        torch.nn.functional.mse_loss(Wrong(), torch.ones(1))


def test_a_mode_that_declines_is_an_error():
    class Declining(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented
    for call in (lambda: torch.rand(2), lambda: torch.ones(1).add(1), lambda: torch.nn.functional.relu(torch.ones(1))):
        with pytest.raises(TypeError, match="no implementation found"), Declining():
            call()
    assert torch.rand(2).shape == (2,)


def test_operands_by_name_have_their_places():
    func, types, args, kwargs = torch.nn.functional.mse_loss(input=torch.ones(1), target=Foreign(), reduction="sum")
    assert len(args) == 2 and type(args[1]) is Foreign and kwargs == {"reduction": "sum"}


def test_types_are_found_in_named_tuples_and_subclasses_of_lists():
    class Listed(list):
        pass
    Pair = collections.namedtuple("Pair", "first second")
    x = torch.ones(2).as_subclass(Marked)
    for operands in (Pair(x, torch.ones(2)), Listed([x, x])):
        assert type(torch.cat(operands)) is Marked and type(torch.stack(operands)) is Marked


def test_views_as_another_dtype_pass_through_modes():
    with Counting():
        assert torch.ones(2).view(torch.int32).tolist() == [0x3F800000] * 2
    assert SEEN == ["ones", "view"]


def test_detached_tensors_are_plain_where_handlers_are_off():
    class Quiet(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
    x = torch.ones(2).as_subclass(Marked)
    assert type(x.detach()) is Marked and type(torch.ones(2).as_subclass(Quiet).detach()) is torch.Tensor
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x.detach()) is type(torch.detach(x)) is torch.Tensor


def test_functions_are_pickled_and_stood_in_for():
    for name, function in FUNCTIONAL.items():
        assert pickle.loads(pickle.dumps(function)) is function, name
    layer = torch.nn.TransformerEncoderLayer(4, 1, 8, activation=torch.nn.functional.gelu)
    assert pickle.loads(pickle.dumps(layer)).activation is torch.nn.functional.gelu
    stand_ins = overrides.get_testing_overrides()
    assert stand_ins[torch.nn.functional.mse_loss](1, 2, reduction="sum") == -1 and stand_ins[torch.meshgrid](1, 2) == -1
    with pytest.raises(TypeError):
        stand_ins[torch.nn.functional.mse_loss](1)
    assert overrides.resolve_name(torch.kl_div) == "torch.kl_div"
