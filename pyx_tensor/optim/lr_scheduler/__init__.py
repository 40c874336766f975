"""Schedules of the learning rate. ``scheduler.step()`` is called after the optimizer's steps of an epoch."""
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler  # noqa: F401
from .combined import ChainedScheduler, SequentialLR  # noqa: F401
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts  # noqa: F401
from .cycle import CyclicLR, OneCycleLR  # noqa: F401
from .decay import (  # noqa: F401
    ConstantLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR)
from .plateau import ReduceLROnPlateau  # noqa: F401

_LRScheduler = LRScheduler  # its name in earlier versions of PyTorch
