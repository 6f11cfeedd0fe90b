"""Configurations: frozen dataclasses that check their fields, save to TOML and load back.

`training.config` and `synth.config` build on this module. It imports neither numpy nor numba, so that the command line
can show the defaults at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from depthforest.base.checks import check_choice, check_range, is_finite, is_whole
from depthforest.base.errors import UsageError
from depthforest.base.files import read_bytes, replacing

MAX_INTEGER = 2**64
"""Larger whole numbers are refused before anything computes with them or prints them."""


@dataclass(frozen=True)
class TomlConfig:
    """Base of a configuration: each field has a default and keeps its type: text, number, or a tuple of these."""

    ERROR: ClassVar[type[UsageError]] = UsageError
    """The error raised for an unusable configuration."""

    OPEN: ClassVar[tuple[str, ...]] = ()
    """Names of tuples of any length; others have the length of their default."""

    STYLE: ClassVar[str] = ""
    """Format of numbers in messages about ranges."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            object.__setattr__(self, entry.name, self._checked(entry.name, value, entry.default))

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the names of all fields."""
        return [entry.name for entry in fields(cls)]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, as a model file stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], name: str = "config") -> Self:
        """Build a configuration from some of its fields; the others have their defaults."""
        if not isinstance(content, Mapping):
            raise cls.ERROR(f"{name}: expected keys and values, got {content!r}")
        known = cls.known_keys()
        unknown = sorted(set(map(str, content)) - set(known))
        if unknown:
            raise cls.ERROR(f"{name}: unknown keys {', '.join(unknown)}; known are {', '.join(known)}")
        try:
            return cls(**content)
        except cls.ERROR as error:
            raise cls.ERROR(f"{name}: {error}") from None

    def to_toml(self) -> str:
        """Return the configuration as TOML text."""
        return "".join(f"{name} = {self._toml(value)}\n" for name, value in asdict(self).items())

    @classmethod
    def from_toml(cls, text: str, name: str = "config") -> Self:
        """Build a configuration from TOML text; fields that it leaves out have their defaults."""
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # TOMLDecodeError, a number of thousands of digits, deep lists
            raise cls.ERROR(f"{name}: is not valid TOML: {error}") from None
        return cls.from_dict(content, name)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a configuration from a TOML file."""
        try:
            text = read_bytes(Path(path), cls.ERROR).decode()
        except UnicodeDecodeError:
            raise cls.ERROR(f"{path}: is not UTF-8 text") from None
        return cls.from_toml(text, str(path))

    def save(self, path: str | Path) -> None:
        """Write the configuration to a TOML file."""
        with replacing(path) as file:
            file.write(self.to_toml().encode())

    def _check_ranges(self, *ranges: tuple[str, float, float]) -> None:
        """Raise the error if a field, or a value of it, is not from low to high: (name, low, high)."""
        for name, low, high in ranges:
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                check_range(name, number, low, high, error_type=self.ERROR, style=self.STYLE)

    def _check_choice(self, name: str, known: Sequence[str]) -> None:
        """Raise the error if a field is not one of the known words."""
        check_choice(name, getattr(self, name), known, error_type=self.ERROR)

    def _checked(self, name: str, value: Any, default: Any) -> Any:
        """Return a value in the type of its default."""
        if isinstance(default, tuple):
            if not isinstance(value, list | tuple):
                raise self.ERROR(f"{name} must be a list, got {value!r}")
            if name not in self.OPEN and len(value) != len(default):
                raise self.ERROR(f"{name} must have {len(default)} entries, got {len(value)}")
            like = default[0] if default else ""
            return tuple(self._checked(name, v, like) for v in value)
        if isinstance(default, str):
            if not isinstance(value, str):
                raise self.ERROR(f"{name} must be text, got {value!r}")
            return value
        if is_whole(value) and abs(value) > MAX_INTEGER:
            raise self.ERROR(f"{name} is a whole number of more than 64 bits; it is far too large")
        if not is_finite(value):
            raise self.ERROR(f"{name} must be a finite number, got {value!r}")
        if isinstance(default, int):
            if value != int(value):
                raise self.ERROR(f"{name} must be a whole number, got {value!r}")
            return int(value)
        return float(value)

    def _toml(self, value: object) -> str:
        if isinstance(value, str):
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            if not escaped.isprintable():
                raise self.ERROR(f"{value!r} cannot be saved; use printable text")
            return f'"{escaped}"'
        if isinstance(value, tuple):
            return "[" + ", ".join(map(self._toml, value)) + "]"
        return repr(value)
