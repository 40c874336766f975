"""Where custom operations are found: by name, in `torch.ops` and in `B`."""
import types

from .. import ops
from ..core.definitions import operations
from ..core.record import namespace

defined = {}       # "namespace::name" -> what users call


class OperationNamespace(types.SimpleNamespace):
    """`torch.ops.mylib`: the custom operations of one namespace."""


def refusal(name, wrong):
    """The error that lists all that is wrong with a definition."""
    return ValueError(f"custom_op {name!r} can't be defined:" + "".join(f"\n  - {fault}" for fault in wrong))


def name_faults(name):
    """What is wrong with the name of a new operation."""
    if not isinstance(name, str) or name.count("::") != 1 or not all(part.isidentifier() for part in name.split("::")):
        return [f"the name must be of the form 'namespace::name', got {name!r}"]
    if name in operations or name in defined:
        return ["an operation of that name is defined already"]
    space = name.partition("::")[0]
    if any(hasattr(place, space) and not isinstance(getattr(place, space), OperationNamespace) for place in (ops, namespace)):
        return [f"the namespace {space!r} is the package's own"]
    return []


def scope_of(name):
    """The namespace object for an operation, made when first needed, in `torch.ops` and in `B` alike."""
    space = name.partition("::")[0]
    if not hasattr(ops, space):
        scope = OperationNamespace()
        setattr(ops, space, scope)
        setattr(namespace, space, scope)
    return getattr(ops, space)


def title(short):
    """'softClip' of 'soft_clip': the start of its node's name."""
    return "".join(part[:1].upper() + part[1:] for part in short.split("_"))
