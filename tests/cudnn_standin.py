"""A module with the surface of the package nvidia-cudnn-frontend that the CUDA backend uses. Graphs of one operation read and write the memory that
they are given, by shapes and strides, and compute on the cpu in float32; `made`, `run` and `streams` tell what was asked for."""
import ctypes
import enum

import ml_dtypes
import numpy as np

import pyx_tensor as torch

data_type = enum.Enum("data_type", "FLOAT HALF BFLOAT16")
heur_mode = enum.Enum("heur_mode", "A B FALLBACK")
numerical_note = enum.Enum("numerical_note", "TENSOR_CORE DOWN_CONVERT_INPUTS REDUCED_PRECISION_REDUCTION NONDETERMINISTIC")
DTYPES = {data_type.FLOAT: np.float32, data_type.HALF: np.float16, data_type.BFLOAT16: ml_dtypes.bfloat16}
VERSION = 91900

made = []      # (operation, deselected notes, options) of each plan
run = []       # the operation of each execution
streams = []      # (handle, stream)
refusal = [None]      # what building a plan raises


class cudnnGraphNotSupportedError(Exception):
    """Raised where no algorithm does what a graph asks for."""


class Handle:
    """A handle of the device that was current."""

    def __init__(self, device):
        self.device = device


def create_handle():
    import cupy_standin
    return Handle(cupy_standin._current[0])


def set_stream(handle, stream):
    streams.append((handle, stream))


def backend_version():
    return VERSION


class Tensor:
    """A graph's tensor."""

    def __init__(self, **facts):
        self.facts = facts

    def set_output(self, value):
        return self.told(output=value)

    def set_uid(self, uid):
        return self.told(uid=uid)

    def set_data_type(self, kind):
        return self.told(data_type=kind)

    def set_dim(self, dim):
        return self.told(dim=dim)

    def set_stride(self, stride):
        return self.told(stride=stride)

    def told(self, **facts):
        self.facts.update(facts)
        return self

    def at(self, address):
        """The array that lies at an address."""
        assert address % 16 == 0, "an address isn't aligned"
        dim, stride, dtype = self.facts["dim"], self.facts["stride"], np.dtype(DTYPES[self.facts["data_type"]])
        assert min(stride) > 0 and (stride[-1] == 1 or "stats" in self.facts.get("name", ""))
        extent = 1 + sum((n - 1) * s for n, s in zip(dim, stride))
        memory = np.frombuffer((ctypes.c_char * (extent * dtype.itemsize)).from_address(address), dtype)
        return np.lib.stride_tricks.as_strided(memory, dim, [s * dtype.itemsize for s in stride])


class pygraph:
    """A graph of one operation."""

    def __init__(self, name, io_data_type, intermediate_data_type, compute_data_type, handle):
        assert isinstance(handle, Handle) and intermediate_data_type is compute_data_type is data_type.FLOAT and io_data_type in data_type
        self.device, self.steps = handle.device, []

    def tensor(self, dim, stride, data_type, name, uid):
        return Tensor(dim=dim, stride=stride, data_type=data_type, name=name, uid=uid)

    def _operation(self, name, inputs, compute, options, count=1):
        self.name, self.inputs, self.compute, self.options = name, inputs, compute, options
        self.results = [Tensor() for _ in range(count)]
        return self.results if count > 1 else self.results[0]

    def conv_fprop(self, image, weight, pre_padding, post_padding, stride, dilation):
        return self._convolution("conv_fprop", (image, weight), pre_padding, post_padding, stride, dilation, lambda conv, x, w: conv(x, w))

    def conv_dgrad(self, loss, filter, pre_padding, post_padding, stride, dilation):
        def compute(conv, y, w):
            x = torch.zeros(self.results[0].facts["dim"], requires_grad=True)
            return torch.autograd.grad(conv(x, w), x, y)[0]
        return self._convolution("conv_dgrad", (loss, filter), pre_padding, post_padding, stride, dilation, compute)

    def conv_wgrad(self, image, loss, pre_padding, post_padding, stride, dilation):
        def compute(conv, x, y):
            w = torch.zeros(self.results[0].facts["dim"], requires_grad=True)
            return torch.autograd.grad(conv(x, w), w, y)[0]
        return self._convolution("conv_wgrad", (image, loss), pre_padding, post_padding, stride, dilation, compute)

    def _convolution(self, name, inputs, pre_padding, post_padding, stride, dilation, compute):
        assert pre_padding == post_padding and all(len(given) == len(inputs[0].facts["dim"]) - 2 >= 2 for given in (pre_padding, stride, dilation))

        def conv(x, w):
            return torch.convolution(x, w, None, list(stride), list(pre_padding), list(dilation), False, 0, x.shape[1] // w.shape[1])

        def run(*given):
            with torch.enable_grad():      # it's called while nothing is recorded
                return [compute(conv, *(torch.from_numpy(a) for a in given)).detach().numpy()]
        return self._operation(name, inputs, run, dict(stride=stride))

    def sdpa(self, q, k, v, attn_scale, generate_stats, diagonal_band_right_bound=None):
        assert generate_stats

        def compute(q, k, v):
            scores = _scores(q, k, attn_scale, diagonal_band_right_bound)
            largest = scores.max(-1, keepdims=True)
            total = np.exp(scores - largest).sum(-1, keepdims=True)
            return np.exp(scores - largest) / total @ v, np.log(total) + largest
        return self._operation("sdpa", (q, k, v), compute, dict(causal=diagonal_band_right_bound), 2)

    def sdpa_backward(self, q, k, v, o, dO, stats, attn_scale, use_deterministic_algorithm, diagonal_band_right_bound=None):
        def compute(q, k, v, o, g, stats):
            weights = np.exp(_scores(q, k, attn_scale, diagonal_band_right_bound) - stats)
            to_scores = weights * (g @ v.swapaxes(-1, -2) - (g * o).sum(-1, keepdims=True)) * attn_scale
            return to_scores @ k, to_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g
        return self._operation("sdpa_backward", (q, k, v, o, dO, stats), compute, dict(deterministic=use_deterministic_algorithm), 3)

    def validate(self):
        self.steps.append("validate")

    def build_operation_graph(self):
        self.steps.append("build_operation_graph")

    def create_execution_plans(self, modes):
        assert modes == [heur_mode.A, heur_mode.FALLBACK]
        self.steps.append("create_execution_plans")

    def deselect_numeric_notes(self, notes):
        assert self.steps[-1] == "create_execution_plans"
        self.notes = {note.name for note in notes}

    def check_support(self):
        made.append((self.name, self.notes, self.options))
        if refusal[0] is not None:
            raise refusal[0]

    def build_plans(self):
        self.steps.append("build_plans")

    def get_workspace_size(self):
        assert self.steps == ["validate", "build_operation_graph", "create_execution_plans", "build_plans"]
        return 0

    def execute(self, variant_pack, workspace, handle):
        assert handle.device == self.device and type(workspace) is int and workspace
        run.append(self.name)
        given = [t.at(variant_pack[t.facts["uid"]]).astype(np.float32) for t in self.inputs]
        assert all(t.facts["output"] for t in self.results) and len(variant_pack) == len(self.inputs) + len(self.results)
        for tensor, values in zip(self.results, self.compute(*given)):
            tensor.at(variant_pack[tensor.facts["uid"]])[...] = values


def _scores(q, k, scale, right_bound):
    scores = scale * (q @ k.swapaxes(-1, -2))
    if right_bound is None:
        return scores
    return np.where(np.tri(*scores.shape[-2:], right_bound, dtype=bool), scores, -np.inf)
