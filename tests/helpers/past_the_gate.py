"""Finds text that reaches Streamlit past `pages.drawing.untrusted`, by reading the pages' code.

A text is safe when every part of it is a literal, a number (by its format or its annotation) or came through the
gate of its kind. Variables, parameters and functions of the pages are followed.
"""

import ast
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

GATE = "pages.drawing.untrusted"
TONGUE = "pages.drawing.translate"  # what it returns is as safe as what it is given
LISTS = "pages.shared.whole_document"  # tests/app/test_untrusted_text.py shows that `with_lists` escapes what is not drawn yet
OURS = {f"{TONGUE}.when", f"{TONGUE}.words_for", f"{LISTS}.with_lists"}  # a date, our own words, escaped text
LITERAL = {f"{TONGUE}.{name}" for name in ("t", "plural", "declared")}  # take a literal message and fields
GATES = {"html": {"escape", "bold"}, "markdown": {"label"}, "plain": {"plain", "label"}}
HEADINGS = {
    "markdown", "caption", "header", "subheader", "title", "write", "toast", "badge", "latex", "divider",
}  # fmt: skip
MESSAGES = {"error", "warning", "info", "success", "exception", "status", "spinner", "expander", "popover"}
BUTTONS = {
    "button",
    "form_submit_button",
    "download_button",
    "link_button",
    "page_link",
    "toggle",
    "checkbox",
}
INPUTS = {"slider", "select_slider", "number_input", "text_input", "text_area", "metric", "progress", "tabs"}
CHOICES = {"pills": "markdown", "segmented_control": "markdown", "radio": "markdown",
           "selectbox": "plain", "multiselect": "plain"}  # fmt: skip
SAID = {"label": "markdown", "help": "markdown", "body": "markdown", "text": "markdown", "placeholder": "plain",
        "delta": "markdown", "tabs": "markdown"}  # keyword -> kind  # fmt: skip
ONLY_THE_GATE = {"html", "plotly_chart", "iframe", "components"}  # draw what they are given
TABLES = {"dataframe", "table", "data_editor", "json"}
NUMERIC = tuple("dfgeGE%,")
NUMBERS = {"len", "round", "int", "sum", "float", "abs", "range"}
SAME = {"list", "tuple", "sorted", "dict.fromkeys", "zip"}  # their arguments, item by item
KEPT = {
    "strip", "removeprefix", "removesuffix", "replace", "join", "format", "get", "items", "values", "keys",
    "lower",
}  # fmt: skip


@dataclass(eq=False)
class Module:
    name: str
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)  # name here -> dotted name


class Reader:
    """All modules of the pages, read together."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.modules = {name: _module(name, source) for name, source in sources.items() if name != GATE}
        self._asked: set[tuple[int, str]] = set()

    def found(self) -> list[str]:
        """Every place, as module:line and what is wrong."""
        return [
            f"{module.name}:{node.lineno}: {ast.unparse(part)}"
            for module in self.modules.values()
            for function, node in _calls(module)
            for part in self._past(module, function, node)
        ]

    def _past(self, module: Module, function: ast.FunctionDef | None, call: ast.Call) -> Iterator[ast.AST]:
        if any(one.arg == "unsafe_allow_html" for one in call.keywords):
            yield call
        if self._dotted(module, call.func) == f"{GATE}.draw":
            yield from self._unsafe(module, function, call.args, "html")
        if not isinstance(call.func, ast.Attribute) or self._ours(module, call.func.value):
            return
        method, arguments = call.func.attr, [one for one in call.args if not isinstance(one, ast.Starred)]
        if method in ONLY_THE_GATE and ast.unparse(call) != "st.html(STYLE)":
            yield call
        if method in TABLES:
            yield from (one for one in arguments[:1] if not self._is_gate(module, one, {"cells"}))
        if method in HEADINGS | MESSAGES | BUTTONS | INPUTS | CHOICES.keys():
            label, *values = arguments or [ast.Constant("")]
            labels = label.elts if method == "tabs" and isinstance(label, ast.List) else [label]
            if method not in ("progress", "metric", "page_link"):
                yield from self._unsafe(module, function, labels, "markdown")
            if method in ("metric", "progress"):
                yield from self._unsafe(module, function, [label, *values][method == "progress" :], "markdown")
            if method in ("text_input", "text_area"):
                yield from self._unsafe(module, function, values[:1], "plain")
            for one in call.keywords:
                if one.arg in SAID:
                    yield from self._unsafe(module, function, [one.value], SAID[one.arg])
        if method in CHOICES:
            shown = next((one.value for one in call.keywords if one.arg == "format_func"), None)
            kind = CHOICES[method]
            if shown is None or self._dotted(module, shown) == f"{TONGUE}.translated":
                yield from self._unsafe(module, function, arguments[1:2], kind)
            elif isinstance(shown, ast.Lambda):
                yield from self._unsafe(module, function, [shown.body], kind)
            elif self._dotted(module, shown) not in {f"{GATE}.{gate}" for gate in GATES[kind]}:
                yield shown

    def _unsafe(
        self, module: Module, function: ast.FunctionDef | None, parts: list[ast.expr], kind: str
    ) -> Iterator[ast.expr]:
        for part in parts:
            self._asked.clear()
            if not self._safe(module, function, part, kind):
                yield part

    def _safe(self, module: Module, function: ast.FunctionDef | None, one: ast.AST | None, kind: str) -> bool:
        def all_safe(parts: list[ast.expr]) -> bool:
            return all(self._safe(module, function, part, kind) for part in parts)

        match one:
            case None | ast.Constant() | ast.Compare():
                return True
            case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts):
                return all_safe(parts)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all_safe(parts)
            case ast.Dict(values=parts):
                return all_safe(parts)
            case ast.FormattedValue(value=value, format_spec=spec):
                form = ast.unparse(spec)[2:-1] if spec else ""
                return form.endswith(NUMERIC) or all_safe([value])
            case ast.IfExp(body=body, orelse=orelse):
                return all_safe([body, orelse])
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return all_safe([left, right])
            case ast.BinOp(left=ast.Constant(), op=ast.Mult()):
                return True
            case (
                ast.ListComp(elt=each) | ast.GeneratorExp(elt=each) | ast.Starred(value=each) | ast.DictComp(value=each)
            ):
                return all_safe([each])
            case ast.Subscript(value=value) | ast.NamedExpr(value=value):
                return all_safe([value])
            case ast.Call():
                return self._safe_call(module, function, one, kind)
            case ast.Name(id=name):
                return self._safe_name(module, function, name, kind)
            case ast.Attribute():
                home, _, name = self._dotted(module, one).rpartition(".")
                there = self.modules.get(home)
                return there is not None and name in there.constants and self._safe_name(there, None, name, kind)
        return False

    def _safe_call(self, module: Module, function: ast.FunctionDef | None, call: ast.Call, kind: str) -> bool:
        if self._is_gate(module, call, GATES[kind]):
            return True
        dotted = self._dotted(module, call.func)
        if dotted in NUMBERS or dotted in OURS:
            return True
        if (module.name, dotted) == (LISTS, "with_lists"):
            return True
        if dotted in LITERAL or (module.name == TONGUE and dotted == "t"):
            return self._safe_message(module, function, call, kind)
        if dotted == f"{TONGUE}.translated":
            return all(self._safe(module, function, part, kind) for part in call.args)
        if dotted in (*SAME, "rag_core.values.answers.lists_as_html"):
            return all(self._safe(module, function, part, kind) for part in call.args)
        home, _, name = dotted.rpartition(".")
        there = self.modules.get(home or module.name)
        if there and name in there.functions:
            return self._safe_function(there, there.functions[name], kind)
        if isinstance(call.func, ast.Attribute) and call.func.attr in KEPT:
            parts = [call.func.value, *call.args, *(one.value for one in call.keywords)]
            return all(self._safe(module, function, part, kind) for part in parts)
        return False

    def _safe_message(self, module: Module, function: ast.FunctionDef | None, call: ast.Call, kind: str) -> bool:
        """A literal message whose fields are numbers by their format, or safe."""
        messages = [one.value for one in call.args if isinstance(one, ast.Constant)]
        count = [one for one in call.args if not isinstance(one, ast.Constant)]
        literal = len(messages) >= 1 and len(count) == (len(messages) == 2)
        numbers = {
            name
            for message in messages
            for _, name, form, _ in string.Formatter().parse(message)
            if form and form.endswith(NUMERIC)
        }
        return literal and all(
            one.arg in numbers or self._safe(module, function, one.value, kind) for one in call.keywords
        )

    def _safe_function(self, module: Module, function: ast.FunctionDef, kind: str) -> bool:
        if (key := (id(function), kind)) in self._asked:
            return True  # being looked at
        self._asked.add(key)
        returned = [node.value for node in _own(function) if isinstance(node, ast.Return)]
        return all(self._safe(module, function, one, kind) for one in returned)

    def _safe_name(self, module: Module, function: ast.FunctionDef | None, name: str, kind: str) -> bool:
        if (key := (id(function or module), f"{kind} {name}")) in self._asked:
            return True
        self._asked.add(key)
        if function is None or not (bound := list(_bindings(function, name))):
            if name in module.constants:
                return self._safe(module, None, module.constants[name], kind)
            home, _, there = module.imports.get(name, "").rpartition(".")
            return home in self.modules and self._safe_name(self.modules[home], None, there, kind)
        return all(
            self._safe_parameter(module, function, one, kind)
            if isinstance(one, ast.arg)
            else self._safe(module, function, one, kind)
            for one in bound
        )

    def _safe_parameter(self, module: Module, function: ast.FunctionDef, one: ast.arg, kind: str) -> bool:
        """A number, or a text that every caller in the pages gives safely."""
        if one.annotation and ast.unparse(one.annotation) in ("int", "float", "bool", "float | None"):
            return True
        names = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        place, given = names.index(one.arg), []
        for there in self.modules.values():
            for caller, call in _calls(there):
                dotted = self._dotted(there, call.func)
                method = dotted == f"self.{function.name}"
                if dotted == f"{module.name}.{function.name}" or (
                    there is module and (method or dotted == function.name)
                ):
                    at = place - method
                    part = call.args[at] if at < len(call.args) else None
                    named = [each.value for each in call.keywords if each.arg == one.arg]
                    given += [(there, caller, each) for each in ([part] if part else named)]
        return bool(given) and all(self._safe(*each, kind) for each in given)

    def _is_gate(self, module: Module, one: ast.AST, gates: set[str]) -> bool:
        return isinstance(one, ast.Call) and self._dotted(module, one.func) in {f"{GATE}.{gate}" for gate in gates}

    def _ours(self, module: Module, one: ast.AST) -> bool:
        """Whether this is a module of ours, whose functions share names with Streamlit's."""
        return self._dotted(module, one).startswith(("pages.", "rag_core"))

    def _dotted(self, module: Module, one: ast.AST) -> str:
        written = _written(one)
        first, dot, rest = written.partition(".")
        return module.imports.get(first, first) + dot + rest


def _module(name: str, source: str) -> Module:
    module = Module(name, ast.parse(source))
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef():
                module.functions[node.name] = node
            case ast.ImportFrom(module=home, names=names):
                module.imports |= {one.asname or one.name: f"{home}.{one.name}" for one in names}
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                module.constants[target] = value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                module.constants |= {ast.unparse(one): value for one, value in zip(targets, values, strict=True)}
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                module.constants[target] = value
    return module


_written = cache(ast.unparse)


@cache
def _calls(module: Module) -> tuple[tuple[ast.FunctionDef | None, ast.Call], ...]:
    """Every call with the function around it."""

    def walk(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                yield function, child
            yield from walk(child, child if isinstance(child, ast.FunctionDef) else function)

    return tuple(walk(module.tree, None))


@cache
def _own(function: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, ast.FunctionDef):
            waiting += ast.iter_child_nodes(node)
    return nodes


def _bindings(function: ast.FunctionDef, name: str) -> Iterator[ast.AST]:
    """What a name is bound to in a function."""
    yield from (one for one in (*function.args.args, *function.args.kwonlyargs) if one.arg == name)
    for node in _own(function):
        match node:
            case ast.Assign(targets=[target], value=value):
                yield from _taken(target, value, name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=grown), attr="append"), args=[value]) if grown == name:
                yield value
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                yield from _taken(target, value, name)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _taken(target, value, name)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield from _taken(target, value, name)
            case ast.MatchAs(name=bound) | ast.MatchStar(name=bound) if bound == name:
                yield node
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                yield from _taken(target, value, name)


def _taken(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.AST]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, part in zip(targets, values, strict=True):
                yield from _taken(one, part, name)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="enumerate"), args=[each, *_]) if len(targets) == 2:
            yield from _taken(targets[1], each, name)
            if ast.unparse(targets[0]) == name:
                yield ast.Constant(0)
        case _ if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target)):
            yield value
