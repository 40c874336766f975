"""Softmax and layer normalisation, compiled for this CPU level."""
include "../kernels/normalize.pxi"
