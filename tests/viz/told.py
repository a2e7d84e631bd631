"""What is read out of a picture."""

import xml.etree.ElementTree as ElementTree


def told(element: ElementTree.Element) -> tuple[str, str]:
    """The name and the description of an `<svg>` element, which stand before everything else in it."""
    title, description = element[:2]
    assert (element.get("role"), title.tag.split("}")[-1], description.tag.split("}")[-1]) == (
        "img",
        "title",
        "desc",
    )
    return title.text or "", description.text or ""
