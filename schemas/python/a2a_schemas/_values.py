"""The parts of the generated models: strictness, texts, times, and numbers as JSON Schema defines them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationInfo
from pydantic import model_serializer, model_validator

from .i_json import fault_of

_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_TIMESTAMP = re.compile(r"[^.]{19}(?:\.[0-9]{3})?Z")


class Strict(BaseModel):
    """Converts nothing and refuses unknown members.

    An optional member may be `None` in Python, and is absent then. In a message from the wire it must not be null.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, dict) and info.context and info.context.get("from_wire"):
            for name, value in data.items():
                if value is None and name != "correlation_id" and name in cls.model_fields:
                    raise ValueError(f"{name} must be absent rather than null")
        return data

    @model_serializer(mode="wrap")
    def _omit_unset(self, write: Any) -> dict[str, Any]:
        """Every dump is valid JSON of the schema: members that were not set are absent."""
        return {name: value for name, value in write(self).items() if value is not None or name == "correlation_id"}

    def to_message(self) -> dict[str, Any]:
        """The object for the wire: the members that were set, and no defaults."""
        return self.model_dump(mode="json", exclude_unset=True)


class Envelope(Strict):
    """The parent of all messages."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unreadable_json(cls, data: Any) -> Any:
        fault = fault_of(data)
        if fault is not None:
            raise ValueError(fault)
        return data

    def to_message(self) -> dict[str, Any]:
        return {"correlation_id": None, **super().to_message()}


def _parse(value: Any) -> datetime:
    if isinstance(value, datetime):
        # `datetime.utcnow()` has no zone, and all times of the protocol are in UTC.
        return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    found = _DATE_TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("expected a date and time such as 2026-01-31T12:00:00.000Z")
    seconds, fraction, zone = found.groups()
    moment = datetime.fromisoformat(seconds)
    if fraction is not None:
        moment = moment.replace(microsecond=int(fraction.ljust(9, "0")[:6]))
    return moment.replace(tzinfo=_zone_of(zone))


def _zone_of(text: str) -> timezone:
    if text == "Z":
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError("expected an offset of less than a day")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _parse_utc(value: Any) -> datetime:
    if isinstance(value, str) and _TIMESTAMP.fullmatch(value) is None:
        raise ValueError("expected a time in UTC such as 2026-01-31T12:00:00.000Z (no fraction or three digits of it)")
    return _parse(value)


def _write(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _integral(value: Any) -> Any:
    """JSON has one kind of number: 1.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _real(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _boolean(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


class Text:
    """The rules of a text. Where the validation context has `lenient_ids`, the lenient pattern counts.

    Pydantic has such rules itself, but before 2.5 its patterns do not know `(?!...)`, and 2.0 counts bytes instead of
    characters.
    """

    def __init__(
        self, pattern: str = "", *, lenient: str | None = None, min_length: int = 0, max_length: int | None = None
    ) -> None:
        self._strict = re.compile(pattern)
        self._lenient = self._strict if lenient is None else re.compile(lenient)
        self._min_length = min_length
        self._max_length = max_length

    def check(self, value: str, info: Any) -> str:
        if len(value) < self._min_length:
            raise ValueError(f"expected at least {self._min_length} characters, got {len(value)}")
        if self._max_length is not None and len(value) > self._max_length:
            raise ValueError(f"expected at most {self._max_length} characters, got {len(value)}")
        pattern = self._lenient if info.context and info.context.get("lenient_ids") else self._strict
        if pattern.search(value) is None:
            raise ValueError(f"expected a text that matches {pattern.pattern}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return AfterValidator(self.check).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        rules = {"pattern": self._strict.pattern, "minLength": self._min_length, "maxLength": self._max_length}
        return {**handler(schema), **{name: rule for name, rule in rules.items() if rule}}


class IdText(str):
    """An id, which equals the `UUID` with the same digits. Ids of old traffic are no UUIDs, so the id is a text."""

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, str(other) if isinstance(other, UUID) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _id_text(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


MessageId = Annotated[
    str,
    BeforeValidator(_id_text),
    Text(
        r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$(?!\n)",
        lenient=r"^[0-9a-z-]{36}$(?!\n)",
    ),
    AfterValidator(IdText),
    PlainSerializer(str, return_type=str),
]
Nonce = Annotated[str, Text(r"^[0-9a-f]{32}$(?!\n)", lenient=r"^[0-9a-z]{32,36}$(?!\n)")]
Timestamp = Annotated[datetime, BeforeValidator(_parse_utc), PlainSerializer(_write, return_type=str)]
DateTime = Annotated[datetime, BeforeValidator(_parse), PlainSerializer(_write, return_type=str)]
Integer = Annotated[int, BeforeValidator(_integral)]
Number = Annotated[float, BeforeValidator(_real)]
Yes = Annotated[Literal[True], BeforeValidator(_boolean)]
No = Annotated[Literal[False], BeforeValidator(_boolean)]
