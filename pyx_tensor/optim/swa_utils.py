"""Averages of a model's parameters over its training, and the schedule that goes with them."""
import itertools
import math
from copy import deepcopy

from ..autograd import no_grad
from ..core.dtype import by_name
from ..nn import Module
from ..ops import namespace as ops
from .lr_scheduler.base import LRScheduler, one_for_each_group

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn", "get_swa_avg_fn"]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay=0.999):
    """A function (average, current, count) giving decay · average + (1 - decay) · current."""
    _check_decay(decay)

    def average(ema_param, current_param, num_averaged):
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return average


def get_swa_avg_fn():
    """A function (average, current, count) giving the mean of all so far."""

    def average(averaged_param, current_param, num_averaged):
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return average


def get_ema_multi_avg_fn(decay=0.999):
    """A function (averages, currents, count) that changes a list of averages as `get_ema_avg_fn` says."""
    _check_decay(decay)

    def update(ema_param_list, current_param_list, _):
        with no_grad():
            for average, current in zip(ema_param_list, current_param_list):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current.to(average.dtype), 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return update


def get_swa_multi_avg_fn():
    """A function (averages, currents, count) that changes a list of averages to the mean of all so far."""

    def update(averaged_param_list, current_param_list, num_averaged):
        weight = 1 / (float(num_averaged) + 1)
        with no_grad():
            for average, current in zip(averaged_param_list, current_param_list):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current.to(average.dtype), weight)
                else:
                    average.add_(((current - average) * weight).to(average.dtype))

    return update


class AveragedModel(Module):
    """The average of a model over the calls of `update_parameters` (stochastic weight averaging, Izmailov et al., 2018).

    Args:
        model: the model; a copy of it, ``module``, holds the averages.
        device: where the averages are kept.
        avg_fn: function(average, current, count) giving a parameter's new average; the mean by default.
        multi_avg_fn: function(averages, currents, count) that changes lists of them in place, instead.
        use_buffers: average the buffers too; else they are copied from the model.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.tensor(0, dtype=by_name["int64"], device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return list(itertools.chain(module.parameters(), module.buffers() if self.use_buffers else ()))

    def update_parameters(self, model):
        """Take the model's parameters into the average; the first call copies them."""
        averages = [average.detach() for average in self._averaged(self.module)]
        currents = [current.detach().to(average.device) for average, current in zip(averages, self._averaged(model))]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents):
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in zip(averages, currents):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, self.n_averaged)
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers()):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Compute the running statistics of a model's batch normalisations anew, over the batches of a loader.

    Args:
        loader: gives batches, or lists and tuples whose first item is one.
        device: where batches go before the model has them.
    """
    with no_grad():
        layers = {module: module.momentum for module in model.modules() if isinstance(module, _batch_norms())}
        if not layers:
            return
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None          # the plain mean
        training = model.training
        model.train()
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
        for layer, momentum in layers.items():
            layer.momentum = momentum
        model.train(training)


def _batch_norms():
    from ..nn.modules import batchnorm
    return batchnorm._BatchNorm


class SWALR(LRScheduler):
    """Goes from the learning rates as they stand to constant ones.

    Args:
        optimizer: see :class:`LRScheduler`.
        swa_lr: the rate at the end, or one for each group.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: ``"cos"`` or ``"linear"``.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        if isinstance(swa_lr, (list, tuple)) and len(swa_lr) != len(optimizer.param_groups):
            raise ValueError(f"swa_lr must have the same length as optimizer.param_groups. swa_lr has {len(swa_lr)} values, "
                             f"param_groups has {len(optimizer.param_groups)}.")
        for group, rate in zip(optimizer.param_groups, one_for_each_group("swa_lr", swa_lr, optimizer)):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch):
        """How far the way to the last rate is gone in an epoch."""
        way = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * way)) / 2 if self._anneal_strategy == "cos" else way

    def get_lr(self):
        """The learning rates of the epoch ``last_epoch``."""
        current = self._current()
        epoch = self._step_count - (self.anneal_epochs != 0)
        before, share = self._share(max(0, epoch - 1)), self._share(epoch)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, current):
            first = group["swa_lr"] if before == 1 else (rate - before * group["swa_lr"]) / (1 - before)
            rates.append(share * group["swa_lr"] + (1 - share) * first)
        return rates


