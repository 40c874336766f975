"""How this package was compiled: the compiler, its flags, and the CPU levels it built kernels for."""
cdef extern from *:
    """
    #if defined(__VERSION__)
      #if defined(__clang__)
        #define PYX_TENSOR_COMPILER __VERSION__
      #else
        #define PYX_TENSOR_COMPILER "GCC " __VERSION__
      #endif
    #else
      #define PYX_TENSOR_COMPILER "MSVC"
    #endif
    #ifdef _OPENMP
      #define PYX_TENSOR_OPENMP 1
    #else
      #define PYX_TENSOR_OPENMP 0
    #endif
    """
    const char* PYX_TENSOR_COMPILER
    const char* PYX_TENSOR_FLAGS
    const char* PYX_TENSOR_LEVELS
    bint PYX_TENSOR_OPENMP

compiler = PYX_TENSOR_COMPILER.decode()
flags = PYX_TENSOR_FLAGS.decode()
levels = tuple(PYX_TENSOR_LEVELS.decode().split())
openmp = bool(PYX_TENSOR_OPENMP)
