"""CUDA devices: how many there are, which one is current, what they are."""
from ..core.device import make_device
from ..core.registry import get_backend, registered_backends


def backend():
    """The backend of CUDA devices; RuntimeError with the reason where there is none."""
    return get_backend("cuda")


def is_available():
    """True where tensors can be put on a CUDA device. Never raises."""
    return device_count() > 0


def device_count():
    """The number of CUDA devices; 0 where CUDA isn't available."""
    try:
        return backend().device_count()
    except RuntimeError:
        return 0


def is_initialized():
    """True once a CUDA device has been used, or asked for."""
    return "cuda" in registered_backends()


def init():
    """Find the CUDA devices now rather than on first use; RuntimeError where there are none."""
    backend()


def current_device():
    """The index of the device that "cuda" means at present."""
    return backend().current_device()


def index_of(device, name):
    """The index that a `device` argument means: an int, "cuda:1", a device, or None for the current one."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        index = device
    else:
        found = make_device(device)
        if found.type != "cuda":
            raise ValueError(f"{name}: expected a cuda device, but got {found}")
        index = current_device() if found.index is None else found.index
    if not 0 <= index < backend().device_count():
        raise RuntimeError(f"{name}: invalid device ordinal {index}: there are {backend().device_count()} CUDA devices")
    return index


def set_device(device):
    """Make "cuda" without an index mean another device (an int, a name or a device; negative ints are ignored)."""
    if isinstance(device, int) and device < 0:
        return
    backend().set_device(index_of(device, "set_device"))
    make_device("cuda").forget()


class device:
    """A context in which "cuda" without an index means another device.

    >>> with device(1):                                          # doctest: +SKIP
    ...     x = torch.zeros(2, device="cuda")                    # on cuda:1

    None and negative ints change nothing.
    """

    def __init__(self, device):
        self.idle = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if self.idle else index_of(device, "device")

    def __enter__(self):
        if not self.idle:
            self.before = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, *exc):
        if not self.idle:
            set_device(self.before)
        return False


class device_of(device):
    """A context in which "cuda" means the device of a tensor; a tensor that isn't on a CUDA device changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


def synchronize(device=None):
    """Wait until the device has done all that it was asked."""
    backend().synchronize(index_of(device, "synchronize"))


def can_device_access_peer(device, peer_device):
    """True where `device` can read the memory of `peer_device` directly."""
    first, second = index_of(device, "can_device_access_peer"), index_of(peer_device, "can_device_access_peer")
    return first != second and backend().can_access_peer(first, second)


class _Properties:
    """Facts about a device: its name, compute capability, memory and multiprocessors."""

    def __init__(self, facts):
        name = facts["name"]
        self.name = name.decode() if isinstance(name, bytes) else name
        self.major, self.minor = int(facts["major"]), int(facts["minor"])
        self.total_memory = int(facts.get("totalGlobalMem", 0))
        self.multi_processor_count = int(facts.get("multiProcessorCount", 0))
        self.max_threads_per_multi_processor = int(facts.get("maxThreadsPerMultiProcessor", 0))
        self.shared_memory_per_block = int(facts.get("sharedMemPerBlock", 0))
        self.regs_per_multiprocessor = int(facts.get("regsPerMultiprocessor", 0))
        self.warp_size = int(facts.get("warpSize", 32))
        self.L2_cache_size = int(facts.get("l2CacheSize", 0))
        self.is_integrated, self.is_multi_gpu_board = int(facts.get("integrated", 0)), int(facts.get("isMultiGpuBoard", 0))

    def __repr__(self):
        return (f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor}, total_memory={self.total_memory >> 20}MB, "
                f"multi_processor_count={self.multi_processor_count})")


def get_device_properties(device=None):
    """What is known of a device: `name`, `major`, `minor`, `total_memory` in bytes, `multi_processor_count` and more."""
    return _Properties(backend().device_properties(index_of(device, "get_device_properties")))


def get_device_name(device=None):
    """The product name of a device."""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """The compute capability of a device, as (major, minor)."""
    found = get_device_properties(device)
    return found.major, found.minor


def is_bf16_supported(including_emulation=True):
    """Whether tensors of bfloat16 can be put on the current device; without emulation, whether its cores compute with them."""
    if not is_available() or "bfloat16" not in backend().dtypes:
        return False
    return including_emulation or get_device_capability() >= (8, 0)


def is_tf32_supported():
    """Whether the current device's cores can multiply float32 with factors of 10 bits."""
    return is_available() and get_device_capability() >= (8, 0)


def get_arch_list():
    """Compute capabilities that kernels are built for beforehand: none, they are compiled for the device when it first needs them."""
    return []
