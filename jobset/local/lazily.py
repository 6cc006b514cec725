"""Properties that are made at the first look at them."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar('T')


class lazy(Generic[T]):  # noqa: N801 - a decorator, as property is
    """As ``functools.cached_property``, which takes a lock for it before Python 3.12: that costs more than most do."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, obj: None, owner: type) -> Self: ...
    @overload
    def __get__(self, obj: object, owner: type) -> T: ...
    def __get__(self, obj: object | None, owner: type) -> Self | T:
        if obj is None:
            return self
        # From now on it is found there, and this is not asked again.
        value = obj.__dict__[self._name] = self._make(obj)
        return value
