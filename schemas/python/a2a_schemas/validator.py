"""Checks messages against the JSON Schemas, without a network."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterable

from jsonschema import Draft7Validator, ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from .i_json import fault_of

VERSIONS = ("1.0.0", "1.1.0")
LATEST = "1.1.0"
BASE = "https://parley.dev/schemas"
ALIAS = "https://a2a-protocol.org/schemas"

_NO_RULES = ("$id", "definitions", "examples")
_LENIENT_PATTERNS = {"MessageId": r"^[0-9a-z-]{36}$(?!\n)", "Nonce": r"^[0-9a-z]{32,36}$(?!\n)"}


class SchemaValidator:
    """Validates messages of the mesh against one version of the schemas.

    `lenient_ids` also accepts ids and nonces of old traffic, which have letters beyond f.
    """

    def __init__(self, version: str = LATEST, *, authenticated: bool = False, lenient_ids: bool = False) -> None:
        if isinstance(version, Path):
            raise ValueError(f"expected a version such as {LATEST}, got a path: the validator contains its schemas")
        if version not in VERSIONS:
            raise ValueError(f"there is no version {version}: there are {' and '.join(VERSIONS)}")
        self.version = version
        self.authenticated = authenticated
        self.lenient_ids = lenient_ids

    def validate(self, message: Any) -> tuple[bool, list[str]]:
        """Says whether the message is valid, and what is wrong with it."""
        fault = fault_of(message)
        if fault is not None:
            return False, [fault]
        known = _validators(self.version, self.lenient_ids)
        errors = _errors(known["base-message.json"], message, "Base schema error: ")
        if errors:
            return False, errors
        name = message["message_type"]
        if name not in _types(self.version):
            return False, [f"Unknown message_type: {name}"]
        errors = _errors(known[f"{name.replace('_', '-')}-message.json"], message, f"{name} schema error: ")
        if self.authenticated:
            errors += _errors(known["authenticated-message.json"], message, "authenticated schema error: ")
        return not errors, errors


class A2AValidator:
    """Validates objects of A2A 1.0, such as a `Task` or an `AgentCard`."""

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
    """A schema by its `$id`.

    The ids of the first description of the mesh work too: they have another domain, and name version 1.0.0 where
    they name none.
    """
    return _registry().contents(re.sub(r"/schemas/([a-z-]+\.json)$", r"/schemas/v1.0.0/\1", identifier))


def _errors(validator: Draft7Validator, message: Any, prefix: str = "") -> list[str]:
    found = sorted(validator.iter_errors(message), key=lambda error: [str(step) for step in error.absolute_path])
    causes = [cause for error in found for cause in _causes(error)]
    return [f"{prefix}{cause.message}{_place(cause.absolute_path)}" for cause in causes]


def _causes(error: ValidationError) -> list[ValidationError]:
    """Of an object that fits none of several schemas: the errors of the one whose constants it has."""
    branches: dict[Any, list[ValidationError]] = {}
    for each in error.context or []:
        branches.setdefault(each.schema_path[0], []).append(each)
    fitting = [branch for branch in branches.values() if all(each.validator != "const" for each in branch)]
    return [cause for each in fitting[0] for cause in _causes(each)] if len(fitting) == 1 else [error]


def _place(path: Iterable[str | int]) -> str:
    steps = ".".join(str(step) for step in path)
    return f" (at {steps})" if steps else ""


@lru_cache(maxsize=None)
def _validators(version: str, lenient_ids: bool = False) -> dict[str, Draft7Validator]:
    files = (_directory() / f"v{version}").glob("*.json")
    return {file.name: Draft7Validator(_self_contained(_read(file), lenient_ids)) for file in files}


def _self_contained(schema: dict[str, Any], lenient_ids: bool) -> dict[str, Any]:
    """The schema with its references resolved, once instead of for every message."""
    return _inline(schema, _registry().resolver(schema["$id"]), _LENIENT_PATTERNS if lenient_ids else {})


def _inline(schema: Any, resolver: Any, patterns: dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, resolver, patterns) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = resolver.lookup(schema["$ref"])
        return _inline(target.contents, target.resolver, patterns)
    kept = {name: value for name, value in schema.items() if name not in _NO_RULES}
    inlined = {name: _inline(value, resolver, patterns) for name, value in kept.items()}
    pattern = patterns.get(schema["title"]) if isinstance(schema.get("title"), str) else None
    return inlined if pattern is None else {**inlined, "pattern": pattern}


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
