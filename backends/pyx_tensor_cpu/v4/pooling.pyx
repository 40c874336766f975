"""Pooling, compiled for this CPU level."""
include "../kernels/pooling.pxi"
