"""Elements as text, escaped by construction."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from gpu_core.web.markup import el, join, raw


def test_elements_nest_and_take_attributes() -> None:
    inner = join(el("b", "1 < 2"), None, " & more")
    assert el("p", inner, class_="a b", data_label='"x"', title=None) == (
        '<p class="a b" data-label="&quot;x&quot;"><b>1 &lt; 2</b> &amp; more</p>'
    )
    assert el("rect", x=1, y=2.5) == '<rect x="1" y="2.5"/>'
    assert el("style", raw("a > b {}")) == "<style>a > b {}</style>"


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_no_text_can_become_markup(text: str) -> None:
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append(f"<{tag} {dict(attrs)}>")

        def handle_data(self, data: str) -> None:
            seen.append(data)

    reader = Reader(convert_charrefs=True)
    reader.feed(el("p", text, title=text))
    reader.close()
    assert seen == [f"<p { {'title': text} }>", *([text] if text else [])]
