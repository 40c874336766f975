# One thread-local word says what the call path has to look at besides plain operands.
cdef enum:
    NO_GRAD = 1        # gradients are not recorded
    INFERENCE = 2      # results are inference tensors: never recorded, no version
    AUTOCAST = 4       # operands are cast by the autocast policy
    ANOMALY = 8        # nodes remember the user's line
    INTERCEPT = 16     # a mode wants to see every call
    SAVED_HOOKS = 32   # saved values pass through the user's pack and unpack hooks
    PROFILE = 128      # a profiler wants to see every call
    TRACK_DERIVED = 64 # the forward of a user's Function: what is computed from its inputs is marked

cdef unsigned int get_mode() noexcept nogil
cdef void set_mode(unsigned int word) noexcept nogil
cdef unsigned int change_mode(unsigned int mask, unsigned int bits) noexcept nogil
