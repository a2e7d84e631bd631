"""Named entities, flat or nested: their common interface, layers of BIO labels, and JSON lines."""

from strukt.data.entities.mentions import (
    Entity,
    Sentence,
    check_entities,
    crossings,
    depths,
    entity_problems,
    ordered,
    partial_entity_problems,
    require_annotated,
    require_nested,
)

__all__ = [
    "Entity",
    "Sentence",
    "check_entities",
    "crossings",
    "depths",
    "entity_problems",
    "ordered",
    "partial_entity_problems",
    "require_annotated",
    "require_nested",
]
