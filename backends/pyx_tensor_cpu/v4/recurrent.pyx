"""Recurrent cells, compiled for this CPU level."""
include "../kernels/recurrent.pxi"
