"""How a checkpoint becomes bytes: a strict serializer, then deflate with a dictionary of the thread's own.

Successive checkpoints of a run differ in a few numbers. A dictionary made of the first ones leaves little
more than the difference.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ["DICTIONARY_BYTES", "Packer", "StrictSerializer"]

WINDOW_BITS = 13
"""Deflate looks back 8 KB: enough for the dictionary, and its tables are cheap to set up."""
MEMORY_LEVEL = 5
DICTIONARY_BYTES = 7_936
"""Largest dictionary: the window less what deflate keeps for itself."""
SAMPLES = 10
"""Values after which a thread's dictionary is made: the first step of a loop."""

LARGE_INTEGER = 100
"""Our mark in msgpack, beyond those that LangGraph uses."""

PLAIN, DEFLATED, WITH_DICTIONARY = b"\x00", b"\x01", b"\x02"


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer without pickle and without foreign classes: what it does not know stays data.

    Integers of any size are kept; msgpack by itself ends at 64 bits.
    """

    def __init__(self) -> None:
        known = JsonPlusSerializer(allowed_msgpack_modules=None)._unpack_ext_hook

        def unpack(code: int, data: bytes) -> Any:
            return int(data) if code == LARGE_INTEGER else known(code, data)

        super().__init__(allowed_msgpack_modules=None, __unpack_ext_hook__=unpack)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value's type and bytes. Raises TypeError for what is not data."""
        try:
            return super().dumps_typed(obj)
        except TypeError:
            # Looked for only now: large integers are rare, and the search costs more than the packing.
            return super().dumps_typed(_mark_large_integers(obj))

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlusSerializer:
        """This serializer: the types of a graph's state are no reason to load classes."""
        return self


def _mark_large_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mark_large_integers(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_mark_large_integers(item) for item in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return ormsgpack.Ext(LARGE_INTEGER, str(value).encode())
    return value


class Packer:
    """Packs the values of one thread. Not thread-safe: the store's lock guards it."""

    def __init__(self) -> None:
        self.dictionary: bytes | None = None
        self._prepared = zlib.compressobj(1, zlib.DEFLATED, -WINDOW_BITS, MEMORY_LEVEL)
        self._samples = b""
        self._seen = 0

    def use(self, dictionary: bytes) -> None:
        """Pack with this dictionary from now on."""
        self.dictionary = dictionary
        # Prepared once and copied for each value: reading the dictionary costs more than packing does.
        self._prepared = zlib.compressobj(
            1, zlib.DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, dictionary
        )

    def pack(self, raw: bytes) -> bytes:
        """The bytes to store; the first one says how the rest is packed."""
        deflate = self._prepared.copy()
        packed = deflate.compress(raw) + deflate.flush()
        if self.dictionary is None:
            self._samples = (self._samples + raw)[-DICTIONARY_BYTES:]
            self._seen += 1
        if len(packed) >= len(raw):
            return PLAIN + raw
        return (DEFLATED if self.dictionary is None else WITH_DICTIONARY) + packed

    def new_dictionary(self) -> bytes | None:
        """The dictionary that this thread should have from now on; None while it is too early."""
        return self._samples if self.dictionary is None and self._seen >= SAMPLES else None

    @staticmethod
    def needs_dictionary(body: bytes) -> bool:
        """True when `body` can only be unpacked with the thread's dictionary."""
        return body[:1] == WITH_DICTIONARY

    def unpack(self, body: bytes) -> bytes:
        """What `pack` was given. Raises zlib.error when they are damaged or the dictionary is missing."""
        kind, packed = body[:1], body[1:]
        if kind == PLAIN:
            return packed
        if kind == WITH_DICTIONARY:
            if self.dictionary is None:
                raise zlib.error("the dictionary is missing")
            return _inflate(zlib.decompressobj(-WINDOW_BITS, self.dictionary), packed)
        return _inflate(zlib.decompressobj(-WINDOW_BITS), packed)


def _inflate(inflater: Any, packed: bytes) -> bytes:
    raw: bytes = inflater.decompress(packed) + inflater.flush()
    if not inflater.eof:
        raise zlib.error("the bytes are cut off")
    return raw
