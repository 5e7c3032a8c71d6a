"""Reads JSON texts of messages, one JSON string per line, and writes what schemas and models say of each.

A verdict is four characters, `+` or `-`: the schema and the model of version 1.0.0, then those of version 1.1.0.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

sys.path.insert(0, str(Path(__file__).parents[1]))

from a2a_schemas import SchemaValidator, v1_0, v1_1  # noqa: E402

JUDGES = [
    (SchemaValidator("1.0.0"), TypeAdapter(v1_0.Message)),
    (SchemaValidator("1.1.0"), TypeAdapter(v1_1.Message)),
]


def parse(text: str) -> Any:
    """As strictly as every receiver should: no name twice, and no word that JSON has not."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name comes twice")
    return members


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def fits(model: TypeAdapter[Any], message: Any) -> bool:
    try:
        model.validate_python(message)
    except ValidationError:
        return False
    return True


def verdict(text: str) -> str:
    try:
        message = parse(text)
    except (ValueError, RecursionError):
        return "----"
    marks = [mark for schema, model in JUDGES for mark in (schema.validate(message)[0], fits(model, message))]
    return "".join("+" if mark else "-" for mark in marks)


if __name__ == "__main__":
    for line in sys.stdin:
        print(verdict(json.loads(line)))
