"""Distances, compiled for this CPU level."""
include "../kernels/distance.pxi"
