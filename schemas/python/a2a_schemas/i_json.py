"""What JSON can carry from any program to any other (RFC 7493), and how deep."""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 64


def fault_of(value: Any, depth: int = 0) -> str | None:
    """Says what no other program could read in this value: broken Unicode, numbers beyond a double, deep nesting."""
    if isinstance(value, str):
        return None if _is_well_formed(value) else "a string is not valid Unicode"
    if isinstance(value, (bool, int, float)):
        return None if _is_finite(value) else "a number is not finite"
    if isinstance(value, (dict, list)):
        if depth >= MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} levels"
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str) or not _is_well_formed(key):
                    return "the name of a member is not valid Unicode"
        for each in value.values() if isinstance(value, dict) else value:
            fault = fault_of(each, depth + 1)
            if fault is not None:
                return fault
    return None


def _is_well_formed(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
