"""Loss scaling for float16: `GradScaler`."""
import inspect
import warnings

from ..core.device import make_device
from ..core.dtype import by_name
from ..core.frontend import Tensor
from ..core.registry import get_backend
from ..ops import namespace as ops

READY, UNSCALED, STEPPED = range(3)      # what has been done with an optimizer since the last update


class GradScaler:
    """Multiplies a loss so that float16 gradients don't vanish, and divides the gradients before the step.

    A step whose gradients aren't finite is left out, and the scale is multiplied by `backoff_factor`; after `growth_interval`
    steps in a row that were finite it is multiplied by `growth_factor` (Micikevicius et al., 2018).

    Args:
        device: the kind of device of the scale; where there is no such device, the scaler warns and is disabled.
        init_scale: the first scale.
        enabled: False makes all methods pass on what they get.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=1.0)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((0.25 * weight).sum()).backward()
    >>> weight.grad
    tensor([2.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight
    tensor([0.7500], requires_grad=True)
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device = device
        self._enabled = enabled
        if enabled and not _exists(device):
            warnings.warn(f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if not backoff_factor < 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None                 # a tensor, made on first use
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0           # steps in a row that were finite
        self._optimizers = {}              # id -> [what has been done, whether infinities were found or None]

    def _started(self, method):
        if self._scale is None:
            raise AssertionError(f"Attempted {method} but _scale is None.  This may indicate your script did not use scaler.scale(loss "
                                 "or outputs) earlier in the iteration.")
        return self._scale

    def _state_of(self, optimizer):
        return self._optimizers.setdefault(id(optimizer), [READY, None])

    def scale(self, outputs):
        """A tensor, or all tensors of an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = ops.full((), self._init_scale, dtype=by_name["float32"], device=make_device(self._device))
        if isinstance(outputs, Tensor):
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(item) for item in outputs)
        if hasattr(outputs, "__iter__") and not isinstance(outputs, str):
            return map(self.scale, outputs)
        raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, not {type(outputs).__name__}")

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale, so that they can be clipped; `step` does it otherwise.

        Raises RuntimeError where that was done already since the last `update`, or after `step`; ValueError for float16 gradients,
        which can't hold the results.
        """
        if not self._enabled:
            return
        scale, state = self._started("unscale_"), self._state_of(optimizer)
        if state[0] == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state[0] == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state[1] = self._unscale(optimizer, 1.0 / float(scale), allow_half=False)
        state[0] = UNSCALED

    @staticmethod
    def _unscale(optimizer, factor, allow_half):
        """Multiply the gradients; True where one isn't finite, None where there is none."""
        found = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.dtype is by_name["float16"] and not allow_half:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                values = gradient.detach()
                if gradient.is_sparse:
                    values = gradient.coalesce().values().detach()
                values.mul_(factor)
                if gradient.is_sparse:
                    parameter.grad = ops.sparse_coo_tensor(gradient.coalesce().indices(), values, gradient.shape)
                found = bool(found) or not bool(ops.isfinite(values).all())
        return found

    def step(self, optimizer, *args, **kwargs):
        """`optimizer.step(*args, **kwargs)`, if all gradients, divided by the scale, are finite. Returns what it returned, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        state = self._state_of(optimizer)
        if state[0] == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False) and "grad_scaler" in inspect.signature(optimizer.step).parameters:
            kwargs["grad_scaler"] = self
            state[1] = False
        else:
            if state[0] == READY:
                self.unscale_(optimizer)
            if state[1] is None:
                raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if state[1] else optimizer.step(*args, **kwargs)
        state[0] = STEPPED
        return result

    def update(self, new_scale=None):
        """Change the scale by what the steps since the last call have found, or to `new_scale`."""
        if not self._enabled:
            return
        scale = self._started("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                                     "requires_grad=False.")
            scale.fill_(float(new_scale))
        else:
            found = [state[1] for state in self._optimizers.values() if state[1] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adjust(scale, any(found))
        self._optimizers = {}

    def _adjust(self, scale, overflow):
        if overflow:
            scale.mul_(self._backoff_factor)
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = float(scale) * self._growth_factor
            if grown <= 3.4028234663852886e38:       # of float32
                scale.fill_(grown)
            self._growth_tracker = 0

    def get_scale(self):
        """The scale as a Python number; 1.0 where the scaler is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        return self._growth_tracker if self._enabled else 0

    def is_enabled(self):
        """False where all methods pass on what they get."""
        return self._enabled

    def state_dict(self):
        """The scale and its options, for a checkpoint; empty where the scaler is disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` has returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self):
        if self._enabled and self._optimizers:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                                 "scaler.update().")
        return {**self.__dict__, "_init_scale": self.get_scale(), "_scale": None}

    def __setstate__(self, state):
        self.__dict__.update(state)


def _exists(device_type):
    try:
        return get_backend(device_type).device_count() > 0
    except RuntimeError:
        return False
