"""What is known of one kind of objects: by key, by whatever else is asked often, and told to whoever listens.

A store is written by one reflector and read by everybody, all in one event loop, so it needs no locks. Objects in it
are never changed, only replaced. It believes an object over the one it holds if its version is newer, or if it is
another object of the same name (its uid differs); anything else is a replay, and nobody hears of it. A whole list is
believed as it is: what it lacks is gone.

Versions that are numbers grow, as Kubernetes now promises. Others can only be the same or different.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

#: Namespace, empty for a kind without, and name.
Key = tuple[str, str]
Version = int | str


class Kept(Protocol):
    """What a store needs to know of an object."""

    @property
    def key(self) -> Key: ...
    @property
    def uid(self) -> str: ...
    @property
    def version(self) -> Version: ...


T = TypeVar("T", bound=Kept)
#: Told of each change: what was held, and what is; None for nothing.
Listener = Callable[[T | None, T | None], None]
#: The values under which an object is to be found.
Index = Callable[[T], Iterable[Hashable]]


def is_stale(version: Version, held: Version) -> bool:
    """Whether a version says nothing new to somebody who knows `held`."""
    if isinstance(version, int) and isinstance(held, int):
        return version <= held
    return version == held


class Store(Generic[T]):
    """Objects by key. `generation` grows with every change, so that what is worked out from them can be kept."""

    def __init__(self, indexes: Mapping[str, Index[T]] | None = None) -> None:
        self.generation = 0
        self._held: dict[Key, T] = {}
        self._indexes = {name: _Indexed(of) for name, of in (indexes or {}).items()}
        self._listeners: tuple[Listener[T], ...] = ()

    # ---- reading

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[T]:
        return iter(self._held.values())

    def __contains__(self, key: Key) -> bool:
        return key in self._held

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._held.get((namespace, name))

    def snapshot(self) -> dict[Key, T]:
        """All objects as they are now; a copy of references, some milliseconds for a hundred thousand."""
        return self._held.copy()

    def by(self, index: str, value: Hashable) -> list[T]:
        """The objects with this value, in the order of their keys."""
        held = self._held
        return [held[key] for key in sorted(self._indexes[index].keys(value))]

    def values(self, index: str) -> list[Hashable]:
        """Every value that some object has."""
        return list(self._indexes[index].held)

    def listen(self, listener: Listener[T]) -> Callable[[], None]:
        """Call `listener(old, new)` for every change from now on; what is returned ends that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

        return stop

    # ---- writing

    def put(self, item: T) -> bool:
        """An object was seen. Whether that was news."""
        key = item.key
        old = self._held.get(key)
        if old is not None and old.uid == item.uid and is_stale(item.version, old.version):
            return False
        self._change(key, old, item)
        return True

    def learn(self, item: T, last: bool = False) -> bool:
        """The answer to a write of our own, which need not wait for the watch to bring it back.

        It only ever renews what is held: an answer may arrive after the news that the object is gone. `last` says that
        nothing keeps the object any longer: such an answer bears the version the object had before.
        """
        old = self._held.get(item.key)
        if old is None or old.uid != item.uid:
            return False
        if last and item.version == old.version:
            self._change(item.key, old, item)
            return True
        return self.put(item)

    def remove(self, key: Key, uid: str = "") -> bool:
        """An object is gone; with a uid, only that one, not another that has taken its name since."""
        old = self._held.get(key)
        if old is None or (uid and old.uid and old.uid != uid):
            return False
        self._change(key, old, None)
        return True

    def replace(self, items: Iterable[T]) -> None:
        """All there is. Listeners hear of differences only: first of what is gone, then of what is new or changed."""
        found = {item.key: item for item in items}
        for key in [key for key in self._held if key not in found]:
            self._change(key, self._held[key], None)
        for key, item in found.items():
            old = self._held.get(key)
            if old is None or old.uid != item.uid or old.version != item.version:
                self._change(key, old, item)

    def _change(self, key: Key, old: T | None, new: T | None) -> None:
        self.generation += 1
        if new is None:
            del self._held[key]
        else:
            self._held[key] = new
        for index in self._indexes.values():
            index.move(key, old, new)
        for listener in self._listeners:
            listener(old, new)


class _Indexed(Generic[T]):
    """Keys by value. An object's old values are asked for anew when it changes, rather than remembered."""

    __slots__ = ("_of", "held")

    def __init__(self, of: Index[T]) -> None:
        self._of = of
        self.held: dict[Hashable, set[Key]] = {}

    def keys(self, value: Hashable) -> Iterable[Key]:
        return self.held.get(value, ())

    def move(self, key: Key, old: T | None, new: T | None) -> None:
        before = () if old is None else tuple(self._of(old))
        after = () if new is None else tuple(self._of(new))
        if before == after:
            return
        for value in before:
            if value not in after:
                keys = self.held[value]
                keys.discard(key)
                if not keys:
                    del self.held[value]
        for value in after:
            self.held.setdefault(value, set()).add(key)
