"""Attention, compiled for this CPU level."""
include "../kernels/attention.pxi"
