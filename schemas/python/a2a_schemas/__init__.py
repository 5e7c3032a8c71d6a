"""Schemas, models and validators of the mesh: signed envelopes between agents."""

from . import models, v1_0, v1_1
from .freshness import freshness_of
from .models import *  # noqa: F403
from .validator import LATEST, VERSIONS, A2AValidator, SchemaValidator, schema_by_id

__version__ = "1.1.0"
__all__ = [
    *models.__all__,
    "A2AValidator",
    "LATEST",
    "SchemaValidator",
    "VERSIONS",
    "freshness_of",
    "schema_by_id",
    "v1_0",
    "v1_1",
]
