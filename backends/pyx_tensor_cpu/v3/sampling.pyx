"""Sampling, compiled for this CPU level."""
include "../kernels/sampling.pxi"
