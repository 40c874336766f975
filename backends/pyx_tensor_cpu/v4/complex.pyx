# The loops of kernels/complex.pxi for this CPU level.
include "../kernels/complex.pxi"
