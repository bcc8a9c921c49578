"""The colours: enough contrast in light and dark by WCAG 2.x, one palette for Streamlit and for the style sheet."""

import re
import tomllib

import pytest
from helpers.small import ROOT

from pages.drawing.palette import PALETTE

THEMES = ("light", "dark")
STYLE = (ROOT / "pages/frame/style.css").read_text(encoding="utf-8")
STREAMLIT = {
    "primaryColor": "accent", "backgroundColor": "background", "secondaryBackgroundColor": "surface",
    "textColor": "text", "linkColor": "accent", "borderColor": "border",
    "blueTextColor": "text", "blueBackgroundColor": "surface",  # of st.info
    "yellowTextColor": "notice-text", "yellowBackgroundColor": "notice-soft",  # of st.warning
}  # fmt: skip

TEXT_PAIRS = (  # text, its background: at least 4.5 to 1
    ("text", "background"), ("text", "surface"), ("muted", "background"), ("muted", "surface"),
    ("accent", "background"), ("accent", "surface"), ("on-accent", "accent"), ("on-danger", "danger"),
    ("danger", "background"), ("text", "danger-soft"), ("warn-text", "warn-soft"), ("notice-text", "notice-soft"), ("text", "mark"),
    ("background", "text"), ("text", "better"), ("text", "worse"),
)  # fmt: skip
SHAPE_PAIRS = tuple(  # lines and marks that carry meaning: at least 3 to 1
    (name, "background") for name in ("good", "warn-line", "transform", "retrieve", "fuse", "rerank", "select", "grey")
)


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, in [0, 1] (WCAG 2.2, definition of relative luminance)."""
    linear = []
    for place in (1, 3, 5):
        value = int(colour[place : place + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, definition of contrast ratio)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_gives_the_published_ratios():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the lightest grey that passes AA


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("least", "pairs"), [(4.5, TEXT_PAIRS), (3.0, SHAPE_PAIRS)], ids=["text", "shapes"])
def test_every_pair_has_the_contrast_of_aa(theme, least, pairs):
    place = THEMES.index(theme)
    ratios = {pair: contrast(PALETTE[pair[0]][place], PALETTE[pair[1]][place]) for pair in pairs}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < least} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_streamlit_has_the_same_colours(theme):
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["theme"]
    place = THEMES.index(theme)
    assert config[theme] == {option: PALETTE[name][place] for option, name in STREAMLIT.items()}
    assert "base" not in config  # the browser decides


def test_the_style_sheet_names_only_colours_of_the_palette_and_has_none_of_its_own():
    assert set(re.findall(r"var\(--rl-([\w-]+)\)", STYLE)) <= set(PALETTE)
    own = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", STYLE))
    translucent = {one for one in own if len(one) in (5, 9) and len(set(one[1:4])) < 3}
    assert own == translucent  # greys that let the background through: lines and shadows


def test_every_size_of_text_is_on_the_scale_or_follows_the_text_around_it():
    sizes = set(re.findall(r"font(?:-size)?: ([^;} ]+)", STYLE))
    scale = {f"var({name})" for name in re.findall(r"(--size-\w+):", STYLE)}
    assert len(scale) == 7
    assert scale <= sizes
    assert {size for size in sizes - scale if not re.fullmatch(r"inherit|\.\d+em", size)} == set()
