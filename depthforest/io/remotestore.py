"""A Zarr store by URL: objects are read like other remote files, once and bounded. Needs the extra `remote`."""

from __future__ import annotations

import asyncio
from typing import Any

from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import MemoryStore

from depthforest.base import RemotePath


class RemoteStore(MemoryStore):  # type: ignore[misc]  # zarr is an extra
    """A read-only store.

    It subclasses an empty in-memory store, so that Zarr itself can take a byte range once the object is read.

    Parameters
    ----------
    path : RemotePath
    """

    def __init__(self, path: RemotePath) -> None:
        super().__init__(read_only=True)
        self._path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteStore) and self._path == other._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __str__(self) -> str:
        return str(self._path)

    @property
    def supports_listing(self) -> bool:
        """False: web servers cannot list, and array names are known."""
        return False

    async def get(self, key: str, prototype: BufferPrototype, byte_range: Any = None) -> Buffer | None:
        """Return an object, or a part of it; None if there is none of this name."""
        content = await asyncio.to_thread(self._content, key)
        if content is None:
            return None
        one = MemoryStore({key: prototype.buffer.from_bytes(content)}, read_only=True)
        return await one.get(key, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        """Tell whether there is an object of this name."""
        return await asyncio.to_thread(self._content, key) is not None

    def _content(self, key: str) -> bytes | None:
        path = self._path
        for name in key.split("/"):
            path = path / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
