"""The models of the newest version. Those of version 1.0.0 are in `a2a_schemas.v1_0`."""

from typing import Any

from pydantic import TypeAdapter

from . import v1_1
from .v1_1 import *  # noqa: F403

__all__ = [*v1_1.__all__, "parse_message"]

_any_message: TypeAdapter[v1_1.Message] = TypeAdapter(v1_1.Message)


def parse_message(message: Any, *, lenient_ids: bool = False) -> v1_1.Message:
    """The model of any message; raises `pydantic.ValidationError`.

    `lenient_ids` also accepts ids and nonces of old traffic, which have letters beyond f.
    """
    return _any_message.validate_python(message, context={"lenient_ids": lenient_ids, "from_wire": True})
