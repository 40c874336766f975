"""Convolution, compiled for this CPU level."""
include "../kernels/convolution.pxi"
