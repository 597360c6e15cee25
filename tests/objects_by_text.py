"""Machine code that tests need again, kept by the text it is made of and by nothing else."""

import hashlib
from collections import OrderedDict

MOST_OBJECTS = 2000  # of some 20 KB each

_objects: OrderedDict[bytes, bytes] = OrderedDict()


def object_of(text: str) -> bytes:
    """A module as an object file for this machine, made once."""
    from wengert.codegen.llvm.machine.native import make_object  # below the settings of conftest

    key = hashlib.sha256(text.encode()).digest()
    made = _objects.get(key)
    if made is None:
        made = _objects[key] = make_object(text)
        if len(_objects) > MOST_OBJECTS:
            _objects.popitem(last=False)
    return made
