"""Optimizer steps, compiled for this CPU level."""
include "../kernels/optim.pxi"
