"""What the generated models are made of: strictness, moments, and numbers as JSON Schema counts them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_validator

from .i_json import fault_of

_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_TIMESTAMP = re.compile(r"[^.]{19}(?:\.[0-9]{3})?Z")


class Strict(BaseModel):
    """Converts nothing, and refuses members that it does not know. An optional member may be absent, but not null."""

    model_config = ConfigDict(extra="forbid", strict=True, regex_engine="python-re", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for name, value in data.items():
                if value is None and name != "correlation_id" and name in cls.model_fields:
                    raise ValueError(f"{name} must be absent rather than null")
        return data

    def to_message(self) -> dict[str, Any]:
        """The object to put on the wire: what was set, and nothing else."""
        return self.model_dump(mode="json", exclude_unset=True)


class Envelope(Strict):
    """The parent of all messages."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_what_json_cannot_say(cls, data: Any) -> Any:
        fault = fault_of(data)
        if fault is not None:
            raise ValueError(fault)
        return data

    def to_message(self) -> dict[str, Any]:
        return {"correlation_id": None, **super().to_message()}


def _parse(value: Any) -> datetime:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("expected a time with a zone, got one without")
        return value
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


Timestamp = Annotated[datetime, BeforeValidator(_parse_utc), PlainSerializer(_write, when_used="json")]
DateTime = Annotated[datetime, BeforeValidator(_parse), PlainSerializer(_write, when_used="json")]
Integer = Annotated[int, BeforeValidator(_integral)]
Number = Annotated[float, BeforeValidator(_real)]
Yes = Annotated[Literal[True], BeforeValidator(_boolean)]
No = Annotated[Literal[False], BeforeValidator(_boolean)]
