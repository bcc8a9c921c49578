"""The colours of the app, each for light and for dark; style sheet, charts and Streamlit's theme take them from here."""

import streamlit as st

PALETTE: dict[str, tuple[str, str]] = {  # name -> light, dark
    "text": ("#1c2b2a", "#e6eeec"),
    "muted": ("#4a5c5a", "#a9bab7"),
    "background": ("#ffffff", "#111919"),
    "surface": ("#f3f7f6", "#1b2626"),
    "border": ("#d5e0de", "#3a4a48"),
    "accent": ("#0f6b6b", "#6cc7c0"),
    "on-accent": ("#ffffff", "#0b1414"),
    "good": ("#177a53", "#5ccf9f"),
    "danger": ("#b3261e", "#ff9f94"),
    "on-danger": ("#ffffff", "#2b0a07"),
    "danger-soft": ("#fdeceb", "#5c1a15"),
    "warn-line": ("#a86f00", "#e0a83a"),
    "warn-soft": ("#ffe7b8", "#4a3814"),
    "warn-text": ("#6b4200", "#ffdf9e"),
    "notice-soft": ("#fff4d6", "#332a12"),
    "notice-text": ("#4a3000", "#f7e3b5"),
    "mark": ("#ffe38a", "#665000"),
    "transform": ("#7a5195", "#bd9bdc"),
    "retrieve": ("#1f6fa8", "#6db3e6"),
    "fuse": ("#946400", "#e0a83a"),
    "rerank": ("#b04a30", "#ec8e74"),
    "select": ("#4f7326", "#9cc468"),
    "better": ("#a9d3cf", "#1f5650"),
    "worse": ("#e3b7a8", "#6d3527"),
    "grey": ("#6b7776", "#93a19f"),
}


def colour(name: str) -> str:
    """A colour in the theme of the visit, for what a style sheet cannot reach, such as charts."""
    light, dark = PALETTE[name]
    return dark if st.context.theme.type == "dark" else light


def css() -> str:
    """The colours as CSS variables that follow the theme: `--rl-NAME`."""
    names = "".join(f"--rl-{name}: light-dark({light}, {dark}); " for name, (light, dark) in PALETTE.items())
    return f"<style>:root {{ {names}}}</style>"
