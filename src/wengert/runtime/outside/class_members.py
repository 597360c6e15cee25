"""What classes and objects hold, without any code of theirs."""

from __future__ import annotations

import functools
import gc
from types import FunctionType, MemberDescriptorType
from typing import Any

from wengert.runtime.outside.users_code import is_users_class
from wengert.runtime.outside.watch import attribute_of

_METHODS = (
    FunctionType,
    property,
    functools.cached_property,
    staticmethod,
    classmethod,
    functools.partialmethod,
    functools.singledispatchmethod,
)


def attributes_of(x: Any) -> dict[str, Any]:
    """The attributes of an object itself."""
    found = attribute_of(x, "__dict__")
    return found if type(found) is dict else {}


def attributes_of_class(kind: type) -> dict[str, Any]:
    """The dict that a class has its attributes in, to be read alone."""
    (found,) = gc.get_referents(vars(kind))
    assert type(found) is dict
    return found


def slots_of(kind: type) -> list[str]:
    """The names of attributes that a class has a place for in its objects."""
    return [name for name, x in vars(kind).items() if isinstance(x, MemberDescriptorType)]


def is_method(member: Any) -> bool:
    """Whether what a class has is asked for the value of an attribute, and was written by the user:
    functions, properties, descriptors of the user's own.
    """
    if isinstance(member, _METHODS):
        return True
    kind = type(member)
    return is_users_class(kind) and hasattr(kind, "__get__")


def function_of(member: Any) -> Any:
    """The function, or what else is called, that a class has as a method."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property | functools.partialmethod):
        return member.func
    if isinstance(member, functools.singledispatchmethod):
        return member.dispatcher
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def users_classes(kind: type) -> list[type]:
    """A class and those that it inherits from, as far as the user has written them, in the order
    in which attributes are looked up.
    """
    return [each for each in kind.__mro__ if is_users_class(each)]
