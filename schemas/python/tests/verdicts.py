"""Reads messages, the bytes of one in base64 per line, and writes what schemas and models say of each.

A verdict is four characters, `+` or `-`: the schema and the model of version 1.0.0, then those of version 1.1.0.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

sys.path.insert(0, str(Path(__file__).parents[1]))

from a2a_schemas import SchemaValidator, v1_0, v1_1  # noqa: E402

JUDGES = [
    (SchemaValidator("1.0.0"), TypeAdapter(v1_0.Message)),
    (SchemaValidator("1.1.0"), TypeAdapter(v1_1.Message)),
]


def parse(message: bytes) -> Any:
    """As strictly as every receiver should: UTF-8, no name twice, and no word that JSON has not."""
    return json.loads(message.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name comes twice")
    return members


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def fits(model: TypeAdapter[Any], message: Any) -> bool:
    try:
        model.validate_python(message, context={"from_wire": True})
    except ValidationError:
        return False
    return True


def verdict(line: str) -> str:
    try:
        message = parse(b64decode(line))
    except (ValueError, RecursionError):
        return "----"
    marks = [mark for schema, model in JUDGES for mark in (schema.validate(message)[0], fits(model, message))]
    return "".join("+" if mark else "-" for mark in marks)


if __name__ == "__main__":
    for line in sys.stdin:
        print(verdict(line))
