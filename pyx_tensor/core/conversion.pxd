cdef bint in_order(object x) noexcept
