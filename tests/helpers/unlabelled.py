"""Finds text that Streamlit would read as Markdown and that did not come through `pages.drawing.untrusted`.

A text is safe when every part of it is a literal, a number by its format or its annotation, or a Label. Names are followed
within a function, and to constants of the pages; what other functions are given and return is safe where they say that it
is a Label, which mypy checks. HTML needs none of this: mypy lets only Markup through.
"""

import ast
import string
from collections.abc import Iterable, Iterator, Mapping

GATE = "pages.drawing.untrusted"
WORDS = "pages.drawing.translate"
MESSAGES = {f"{WORDS}.{name}" for name in ("t", "plural", "declared")}  # of a literal and fields
OURS = {f"{WORDS}.when", f"{WORDS}.words_for"}  # a date, and our own texts
# What draws Markdown, and which of its arguments; then those by keyword, and the gates that are good for them
FIRST = (
    "markdown caption header subheader title write toast badge error warning info success status spinner expander "
    "popover button form_submit_button download_button link_button toggle checkbox slider select_slider number_input "
    "text_input text_area tabs pills segmented_control radio selectbox multiselect dialog"
)
MARKDOWN = dict.fromkeys(FIRST.split(), slice(1)) | {"metric": slice(None), "progress": slice(1, 2)}
LABEL, PLAIN = ("label",), ("plain", "label")
KEYWORDS = {"label": LABEL, "help": LABEL, "body": LABEL, "text": LABEL, "delta": LABEL, "placeholder": PLAIN}
VALUES = {"text_input", "text_area"}  # show their second argument as it is
OPTIONS = {"pills": LABEL, "segmented_control": LABEL, "radio": LABEL, "selectbox": PLAIN, "multiselect": PLAIN}
ONLY_THE_GATE = {"html", "plotly_chart", "iframe", "components", "latex"}
TABLES = {"dataframe", "table", "data_editor", "json"}
NUMERIC = tuple("dfgeGE%,")
SAFE_KINDS = ("int", "float", "bool", "Label")
NUMBERS = {"len", "int", "range"}


class Pages:
    """The modules of the pages, by name, read together."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._trees = {name: ast.parse(source) for name, source in sources.items() if name != GATE}
        self._imports = {name: _imports(name, tree) for name, tree in self._trees.items()}
        self._constants = {
            f"{name}.{constant}": value for name, tree in self._trees.items() for constant, value in _bound(tree.body)
        }
        self.labels = {f"{GATE}.label"} | {
            f"{name}.{one.name}"
            for name, tree in self._trees.items()
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and one.returns and ast.unparse(one.returns).endswith("Label")
        }

    def unlabelled(self) -> list[str]:
        """Every such text, as module:line and what it is."""
        return [
            f"{name}:{part.lineno}: {ast.unparse(part)}"
            for name, tree in self._trees.items()
            for function, call in _calls(tree)
            for part in _Function(self, name, function).unsafe(call)
        ]

    def constant(self, module: str, one: ast.AST) -> ast.expr | None:
        dotted = self.dotted(module, one)
        return self._constants.get(f"{module}.{dotted}") or self._constants.get(dotted)

    def dotted(self, module: str, one: ast.AST) -> str:
        first, dot, rest = ast.unparse(one).partition(".")
        return self._imports[module].get(first, first) + dot + rest


class _Function:
    def __init__(self, pages: Pages, module: str, function: ast.FunctionDef | None) -> None:
        self._pages, self._module = pages, module
        self._bound: dict[str, list[ast.expr | None]] = {}
        if function:
            for one in (*function.args.args, *function.args.kwonlyargs):
                kind = ast.unparse(one.annotation).rpartition(".")[2] if one.annotation else ""
                self._bound[one.arg] = [ast.Constant(0) if kind in SAFE_KINDS else None]
            for name, value in _bound(ast.walk(function)):
                self._bound.setdefault(name, []).append(value)
        self._asked: set[tuple[str, tuple[str, ...]]] = set()

    def unsafe(self, call: ast.Call) -> Iterator[ast.AST]:
        if not isinstance(call.func, ast.Attribute) or self._dotted(call.func.value).startswith(
            ("pages.", "rag_core", "_log")
        ):
            return
        method, arguments = call.func.attr, [one for one in call.args if not isinstance(one, ast.Starred)]
        if any(one.arg == "unsafe_allow_html" for one in call.keywords) or method in ONLY_THE_GATE:
            yield call
        if method in TABLES and not self._through(arguments[0], "cells"):
            yield arguments[0]
        if method in MARKDOWN:
            yield from (one for one in arguments[MARKDOWN[method]] if not self._safe(one))
            for one in call.keywords:
                if one.arg in KEYWORDS and not self._safe(one.value, KEYWORDS[one.arg]):
                    yield one.value
        if method in VALUES:
            yield from (one for one in arguments[1:2] if not self._safe(one, PLAIN))
        if method in OPTIONS:
            shown = next((one.value for one in call.keywords if one.arg == "format_func"), None)
            if shown is None or self._dotted(shown) == f"{WORDS}.translated":
                yield from (one for one in arguments[1:2] if not self._safe(one))
            elif isinstance(shown, ast.Lambda):
                if not self._safe(shown.body, OPTIONS[method]):
                    yield shown.body
            elif self._dotted(shown) not in {f"{GATE}.{gate}" for gate in OPTIONS[method]}:
                yield shown

    def _safe(self, one: ast.expr | None, gates: tuple[str, ...] = LABEL) -> bool:
        def all_safe(*parts: ast.expr) -> bool:
            return all(self._safe(part, gates) for part in parts)

        match one:
            case ast.Constant():
                return True
            case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all_safe(*parts)
            case ast.Dict(values=parts):
                return all_safe(*parts)
            case ast.FormattedValue(value=value, format_spec=spec):
                return (bool(spec) and ast.unparse(spec)[2:-1].endswith(NUMERIC)) or all_safe(value)
            case ast.IfExp(body=body, orelse=orelse):
                return all_safe(body, orelse)
            case ast.BinOp(left=left, right=right):
                return all_safe(left, right)
            case ast.ListComp(elt=each) | ast.GeneratorExp(elt=each):
                return all_safe(each)
            case ast.Subscript(value=value):
                return all_safe(value)
            case ast.Name(id=name) if name in self._bound:
                if (key := (name, gates)) in self._asked:
                    return True
                self._asked.add(key)
                return all_safe(*self._bound[name])
            case ast.Name() | ast.Attribute():
                constant = self._pages.constant(self._module, one)
                return constant is not None and all_safe(constant)
            case ast.Call():
                return self._safe_call(one, gates)
        return False

    def _safe_call(self, call: ast.Call, gates: tuple[str, ...]) -> bool:
        parts, dotted = [*call.args, *(one.value for one in call.keywords)], self._dotted(call.func)
        if dotted in MESSAGES:
            literals = [one.value for one in call.args if isinstance(one, ast.Constant)]
            formats = {name: form for text in literals for _, name, form, _ in string.Formatter().parse(text)}
            return bool(literals) and all(
                (formats.get(one.arg or "") or "").endswith(NUMERIC) or self._safe(one.value, gates) for one in call.keywords
            )  # fmt: skip
        if any(self._through(call, gate) for gate in gates) or dotted in NUMBERS | OURS | self._pages.labels:
            return True
        if dotted in (f"{WORDS}.translated", f"{GATE}.Label", "list"):
            return all(self._safe(part, gates) for part in parts)
        joined = isinstance(call.func, ast.Attribute) and call.func.attr in ("join", "items")
        return joined and all(self._safe(part, gates) for part in (call.func.value, *parts))

    def _through(self, one: ast.AST, gate: str) -> bool:
        return isinstance(one, ast.Call) and self._dotted(one.func) == f"{GATE}.{gate}"

    def _dotted(self, one: ast.AST) -> str:
        return self._pages.dotted(self._module, one)


def _imports(name: str, tree: ast.Module) -> dict[str, str]:
    """Name in a module -> dotted name of what it imports, or of its own function."""
    own = {node.name: f"{name}.{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)}
    return own | {
        one.asname or one.name: f"{node.module}.{one.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }


def _calls(node: ast.AST, function: ast.FunctionDef | None = None) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
    """Every call with the function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield function, child
        yield from _calls(child, child if isinstance(child, ast.FunctionDef) else function)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Every name that statements bind, with what it is bound to."""
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                pass
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                pass
            case _:
                continue
        pairs = [(target, value)]
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                pairs = [*zip(targets, values, strict=True)]
        for part, bound in pairs:
            yield from ((one.id, bound) for one in ast.walk(part) if isinstance(one, ast.Name))
