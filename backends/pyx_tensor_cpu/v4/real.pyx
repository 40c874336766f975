# The loops of kernels/real.pxi for this CPU level.
include "../kernels/real.pxi"
