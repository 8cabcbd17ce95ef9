"""Elements of pages and pictures: text is escaped when it is written, because there is no other way to write it.

Names of datasets, columns and units are other people's text. They enter as text of elements or as values of
attributes of `xml.etree`, never as markup.
"""

import re
from xml.etree import ElementTree as ET

Child = str | ET.Element | None

_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that no XML file may hold, and those that turn the direction of the text around them."""


def element(tag: str, *children: Child, **attributes: object) -> ET.Element:
    """An element of a page or a picture.

    Args:
        tag: its name.
        children: texts and elements, in order; None is left out.
        attributes: by name; `_` stands for `-`, `class_` for class, None leaves one out.
    """
    told = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    made = ET.Element(tag, {name: clean(written(value)) for name, value in told.items() if value is not None})
    add(made, *children)
    return made


def add(parent: ET.Element, *children: Child) -> ET.Element:
    """Append texts and elements to `parent`, and return it."""
    for child in children:
        if isinstance(child, str):
            _append_text(parent, clean(child))
        elif child is not None:
            parent.append(child)
    return parent


def written(value: object) -> str:
    """Coordinates with a tenth of a pixel; everything else as it is."""
    if isinstance(value, float):
        text = f"{value:.1f}"
        return "0" if text == "-0.0" else text.removesuffix(".0")
    return str(value)


def clean(text: str) -> str:
    """The text without characters that break a file or turn its direction."""
    return _CONTROL.sub("\ufffd", text)


def page_text(root: ET.Element) -> str:
    """An HTML file."""
    return f"<!doctype html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def picture_text(root: ET.Element) -> str:
    """An SVG file that stands alone."""
    alone = ET.Element(root.tag, {"xmlns": "http://www.w3.org/2000/svg", **root.attrib})
    alone.text = root.text
    # paper of its own: viewers with dark pages put it on those
    paper = ET.Element("rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    texts = [part for part in root if part.tag in {"title", "desc"}]
    alone.extend([*texts, paper, *[part for part in root if part not in texts]])
    return ET.tostring(alone, encoding="unicode") + "\n"


def _append_text(parent: ET.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
