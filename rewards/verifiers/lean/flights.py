"""Do what is asked for several times at once only once, and remember it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Flights(Generic[T]):
    """Results by key. Threads that want the same one wait for the first of them. Thread-safe."""

    def __init__(self, size: int, keeps: Callable[[T], bool]) -> None:
        self.size, self.keeps = size, keeps
        self._lock = threading.Lock()
        self._items: OrderedDict[Hashable, Future[T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, made now or earlier; what is not worth keeping is dropped.

        Raises:
            Exception: What `make` raised, in each of the threads that waited for it.
        """
        with self._lock:
            future = self._items.get(key)
            first = future is None
            if future is None:
                future = self._items[key] = Future()
            self._items.move_to_end(key)
        if first:
            self._make(key, future, make)
        return future.result()

    def _make(self, key: Hashable, future: Future[T], make: Callable[[], T]) -> None:
        kept = False
        try:
            result = make()
            kept = self.keeps(result)
            future.set_result(result)
        except BaseException as error:
            future.set_exception(error)
        finally:
            with self._lock:
                if not kept:
                    self._items.pop(key, None)
                while len(self._items) > self.size and next(iter(self._items.values())).done():
                    self._items.popitem(last=False)
