"""The built page is held against the list once more: what a rule of the sources missed is refused here."""

from pathlib import Path

import pytest

from rules import contents

PAGE = '<html><head></head><body><article class="md-content__inner md-typeset"><h1 id="a">A</h1>{}</article></body></html>'
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<p onclick=alert(1)>x</p>",
    '<p style="position:fixed">x</p>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href=" java&#10;script:alert(1)">x</a>',
    '<a href="data:text/html,x">x</a>',
    '<a href="\\\\evil.example">x</a>',
    '<form action="https://evil.example"><input name="a"></form>',
    "<script>alert(1)</script>",
    '<svg><a href="https://evil.example"><text>x</text></a></svg>',
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    "<svg><foreignObject><p>x</p></foreignObject></svg>",
    '<svg><use href="https://evil.example/x.svg#a"></use></svg>',
    "<math><mtext><img src=x></mtext></math>",
    "<template><img src=x onerror=alert(1)></template>",
    "</article><iframe src=x></iframe>",
    '</article><base href="https://evil.example">',
    "</article><p onfocus=alert(1) tabindex=0>x</p>",
]


@pytest.mark.parametrize("html", HOSTILE)
def test_it_is_refused(html: str, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(PAGE.format(html), "utf-8")
    assert list(contents.built_contents(page))


def test_a_plain_page_is_not(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(PAGE.format('<p class="a">x <a href="../b/#c">y</a> <a href="https://a.example/">z</a></p>'), "utf-8")
    assert list(contents.built_contents(page)) == []
