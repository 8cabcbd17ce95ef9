"""Make HTML of pages: templates, in which every name is escaped, and pictures, which are markup."""

from functools import cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from pubpriv.released.report.drawing import clean

if TYPE_CHECKING:
    from jinja2 import Template

Figure = tuple[str, str]
"""A picture's markup, and its caption."""


@cache
def template(name: str) -> "Template":
    """Load a page's template, with escaping, because names of datasets, columns and units are other people's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("pubpriv.released.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else clean(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def figure(chart: Element, caption: str) -> Figure:
    """Make the markup of a picture, with its caption."""
    from markupsafe import Markup

    return Markup(ET.tostring(chart, encoding="unicode", method="html")), caption  # noqa: S704  # `xml.etree` escaped what it wrote
