"""What is in a picture, and what is read out of it."""

import xml.etree.ElementTree as ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"


def told(element: ElementTree.Element) -> tuple[str, str]:
    """The name and the description of an `<svg>` element, which stand before everything else in it."""
    title, description = element[:2]
    assert (element.get("role"), title.tag.split("}")[-1], description.tag.split("}")[-1]) == (
        "img",
        "title",
        "desc",
    )
    return title.text or "", description.text or ""


def elements(drawing: str, kind: str, role: str) -> list[ElementTree.Element]:
    """The elements of a kind in an SVG that have a role."""
    picture = ElementTree.fromstring(drawing)
    return [element for element in picture.iter(NAMESPACE + kind) if element.get("class") == role]
