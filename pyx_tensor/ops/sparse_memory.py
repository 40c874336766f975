"""What a tensor without memory of its own in the usual form refuses: its address, its strides, its values on the host."""


class WithoutMemory:
    """Mixed into classes of tensors whose array isn't the backend's."""

    def stride(self, dim=None):
        raise RuntimeError("sparse tensors do not have strides")

    def is_contiguous(self, memory_format=None):
        return False

    def data_ptr(self):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def storage(self):
        raise NotImplementedError("Cannot access storage of a sparse tensor")

    untyped_storage = storage_offset = storage

    @property
    def nbytes(self):
        raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the "
                           "indices and values.")

    def numpy(self, *, force=False):
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def _host_array(self):
        if self.numel() != 1:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.to_dense()._host_array()

    def tolist(self):
        raise NotImplementedError(f"tolist: a tensor of layout {self.layout} has no list of its values. Use Tensor.to_dense() first.")

    def __dlpack__(self, **kwargs):
        raise BufferError(f"a tensor of layout {self.layout} can't be exported. Use Tensor.to_dense() first.")

    __dlpack_device__ = __dlpack__
