"""Put every table into a box of its own that scrolls sideways, without a script in the browser."""

from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig


class Boxes(Treeprocessor):
    """Wrap tables as Material's script would, so that it has nothing left to do."""

    def run(self, root: Element) -> None:
        """Wrap each table of a page."""
        for parent in list(root.iter()):
            for index, child in enumerate(list(parent)):
                if child.tag == "table":
                    box = Element("div", {"class": "md-typeset__scrollwrap"})
                    SubElement(box, "div", {"class": "md-typeset__table"}).append(child)
                    child.set("class", "data")
                    box.tail, child.tail = child.tail, None
                    parent[index] = box


class BoxedTables(Extension):
    """The Markdown extension that does it, after the tables are made."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the base class's own name
        """Register the step."""
        md.treeprocessors.register(Boxes(md), "boxed_tables", 0)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the extension; an object, since the mkdocs command cannot import a hook by name."""
    config.markdown_extensions.append(BoxedTables())  # type: ignore[arg-type]  # MkDocs passes objects on to Markdown
    return config
