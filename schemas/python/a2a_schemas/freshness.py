"""How old a message may be."""

from __future__ import annotations

from datetime import datetime, timezone

MAX_AGE_SECONDS = 300
MAX_AHEAD_SECONDS = 60


def freshness_of(timestamp: datetime, now: datetime | None = None) -> str:
    """`FRESH`, `STALE` (older than 300 s) or `FUTURE` (more than 60 s ahead)."""
    age = ((now or datetime.now(timezone.utc)) - timestamp).total_seconds()
    if age > MAX_AGE_SECONDS:
        return "STALE"
    return "FUTURE" if age < -MAX_AHEAD_SECONDS else "FRESH"
