"""Where storages were, as files tell it ('cpu', 'cuda:0'), and where they go: `map_location`."""
from ..core.device import make_device
from ..core.tensor import TensorBase
from ..ops.storage import TypedStorage, UntypedStorage

_packages = []         # (priority, tagger, deserializer), lowest priority first


def register_package(priority, tagger, deserializer):
    """Let a device say how its storages are tagged in files and brought back. A registered backend needs none.

    Args:
        priority: lower ones are asked first.
        tagger: function(storage) -> its tag (`storage.device` tells where it is), such as 'vault:1', or None for storages of other devices.
        deserializer: function(cpu storage, tag) -> the storage on the device, or None for other tags.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage):
    """The tag of a storage in a file."""
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag is not None:
            return tag
    return str(storage.device)


def default_restore_location(storage, location):
    """A storage from a file (on the cpu) on the device of a tag; RuntimeError where that isn't here."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    if location == "cpu":
        return storage
    try:
        device = make_device(location)
        device.backend
    except RuntimeError as error:
        raise RuntimeError(f"Attempting to deserialize object on device {location!r}, which is not available here ({error}). Install the backend "
                           "for it, or pass map_location='cpu' to bring its tensors to the cpu.") from error
    return storage.to(device)


def make_placement(map_location):
    """function(cpu storage, tag) -> storage, for what the user gave as `map_location`.

    Raises TypeError where it is neither None, a device, its name, a dict nor a function.
    """
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        names = {str(old): str(new) for old, new in map_location.items()}
        return lambda storage, location: default_restore_location(storage, names.get(location, location))
    if callable(map_location):
        return lambda storage, location: _as_storage(map_location(storage.untyped(), location), storage, location)
    try:
        device = make_device(map_location)
    except TypeError:
        raise TypeError(f"load(): map_location must be None, a device, its name, a dict or a function, not {type(map_location).__name__}") from None
    return lambda storage, location: default_restore_location(storage, str(device))


def _as_storage(moved, storage, location):
    """What a user's function gave: a storage, a tensor, or None for 'where it was'."""
    if moved is None:
        return default_restore_location(storage, location)
    if isinstance(moved, TensorBase):
        return TypedStorage._of(moved)
    if not isinstance(moved, (TypedStorage, UntypedStorage)):
        raise TypeError(f"load(): map_location must give a storage or None, got {type(moved).__name__}")
    return moved
