"""Checks messages against the JSON Schemas, without a network."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from .i_json import fault_of

VERSIONS = ("1.0.0", "1.1.0")
LATEST = "1.1.0"
BASE = "https://parley.dev/schemas"
ALIAS = "https://a2a-protocol.org/schemas"


class SchemaValidator:
    """Holds messages of the mesh against one version of the schemas."""

    def __init__(self, version: str = LATEST, *, authenticated: bool = False) -> None:
        if version not in VERSIONS:
            raise ValueError(f"there is no version {version}: there are {' and '.join(VERSIONS)}")
        self.version = version
        self.authenticated = authenticated

    def validate(self, message: Any) -> tuple[bool, list[str]]:
        """Says whether the message is valid, and what is wrong with it."""
        fault = fault_of(message)
        if fault is not None:
            return False, [fault]
        if not isinstance(message, dict):
            return False, ["expected an object"]
        name = message.get("message_type")
        known = _validators(self.version)
        file = f"{name.replace('_', '-')}-message.json" if isinstance(name, str) else ""
        if file not in known or "-" in str(name) or name in ("base", "authenticated"):
            types = ", ".join(sorted(_types(self.version)))
            return False, [f"message_type: version {self.version} has only {types}"]
        errors = _errors(known[file], message)
        if self.authenticated:
            errors += [error for error in _errors(known["authenticated-message.json"], message) if error not in errors]
        return not errors, errors


class A2AValidator:
    """Holds objects of A2A 1.0, such as a `Task` or an `AgentCard`, against their schemas."""

    def validate(self, name: str, value: Any) -> tuple[bool, list[str]]:
        fault = fault_of(value)
        if fault is not None:
            return False, [fault]
        identifier = f"{BASE}/a2a/v1.0/a2a.json"
        if name not in schema_by_id(identifier)["definitions"]:
            raise ValueError(f"A2A 1.0 has no object {name}")
        schema = {"$ref": f"{identifier}#/definitions/{name}"}
        errors = _errors(Draft7Validator(schema, registry=_registry()), value)
        return not errors, errors


def schema_by_id(identifier: str) -> dict[str, Any]:
    """A schema by its `$id`, or by the one that the first description of the mesh gave it."""
    return _registry().contents(identifier)


def _errors(validator: Draft7Validator, message: Any) -> list[str]:
    found = sorted(validator.iter_errors(message), key=lambda error: [str(step) for step in error.absolute_path])
    return [f"{'.'.join(str(step) for step in error.absolute_path) or 'message'}: {error.message}" for error in found]


@lru_cache(maxsize=None)
def _validators(version: str) -> dict[str, Draft7Validator]:
    files = (_directory() / f"v{version}").glob("*.json")
    return {file.name: Draft7Validator(_whole(_read(file))) for file in files}


def _whole(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in place: references are looked up once, and not for every message."""
    return _inline(schema, _registry().resolver(schema["$id"]))


def _inline(schema: Any, resolver: Any) -> Any:
    if isinstance(schema, list):
        return [_inline(each, resolver) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = resolver.lookup(schema["$ref"])
        return _inline(found.contents, found.resolver)
    return {name: _inline(each, resolver) for name, each in schema.items() if name not in ("$id", "definitions")}


def _types(version: str) -> list[str]:
    not_types = ("base-message.json", "authenticated-message.json")
    names = [name for name in _validators(version) if name not in not_types]
    return [name.removesuffix("-message.json").replace("-", "_") for name in names]


@lru_cache(maxsize=None)
def _registry() -> Registry:
    registry: Registry = Registry()
    for file in _directory().glob("**/*.json"):
        schema = _read(file)
        identifier = schema["$id"]
        registry = registry.with_resource(identifier, Resource.from_contents(schema, default_specification=DRAFT7))
        alias = identifier.replace(BASE, ALIAS)
        resource = Resource.from_contents({**schema, "$id": alias}, default_specification=DRAFT7)
        registry = registry.with_resource(alias, resource)
    return registry


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def _directory() -> Path:
    """Beside this file once it is installed, and two directories up in the repository."""
    installed = Path(__file__).parent / "json"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "json"
