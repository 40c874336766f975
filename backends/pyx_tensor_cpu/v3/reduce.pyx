"""The reductions' leaves, compiled for this CPU level."""
include "../kernels/reduce.pxi"
