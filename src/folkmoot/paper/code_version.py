"""What code a cell is computed by, as a short hash: a stored result is of the code that computed it.

The hash is of syntax trees without comments and docstrings, so that it changes with what the code does and
not with what is said about it; other strings are part of the code. It covers what the cell's function uses in
its own module (not the words of a finding or the lines of a picture beside it), and every module of the
package that this imports, transitively and whole. Of a package's ``__init__`` only what makes the imported
name counts: otherwise a change of a kernel would fit every forest again. Imports are read off the source,
those inside functions too: what happens to be loaded does not matter.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Final

_LIBRARIES: Final = ("numpy", "scikit-learn", "numba")
_WHOLE: Final = "*"


def code_version(function: Callable[..., Any]) -> str:
    """A hash of the code that a module-level function runs, and of the libraries' versions."""
    return _code_version(function.__module__, function.__qualname__)


@cache
def _code_version(module: str, function: str) -> str:
    libraries = [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
    file = getattr(sys.modules.get(module), "__file__", None)
    own = _installed().version_of(module, function, None if file is None else Path(file))
    return _hash([own, *libraries])


@cache
def _installed() -> Sources:
    return Sources(Path(__file__).parents[1])


class Sources:
    """The modules of a package, by its folder: each is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder.name
        self._modules: dict[str, _Module | None] = {}
        self._edges: dict[tuple[str, str], list[tuple[str, str]]] = {}

    def version_of(self, module: str, function: str, file: Path | None = None) -> str:
        """The hash of the code behind a function; ``file`` is its module's if that is not of the package."""
        code = self.code_of(module, function, file)
        return _hash(f"{name} {code[name]}" for name in sorted(code))

    def code_of(self, module: str, function: str, file: Path | None = None) -> dict[str, str]:
        """The hash of what a function uses of each module, by the module's name; none if it has no source."""
        taken: dict[_Module, tuple[str, set[str]]] = {}
        waiting = [(module, function.split(".", 1)[0])]
        while waiting:
            name, what = waiting.pop()
            found = self._module(name, file if name == module else None)
            if found is None:
                continue
            _, names = taken.setdefault(found, (name, set()))
            if what not in names:
                names.add(what)
                waiting += self._needs(name, found, what)
        return {name: found.version(frozenset(names)) for found, (name, names) in taken.items()}

    def _needs(self, name: str, module: _Module, what: str) -> list[tuple[str, str]]:
        """What a module imports for one of its names, or for all."""
        if (name, what) not in self._edges:
            statements = [module.statements[i] for i in module.used(what)]
            self._edges[name, what] = list(self._imported(name, statements))
        return self._edges[name, what]

    def _imported(self, importer: str, statements: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
        """What statements may import: modules of the package, and what they take of each.

        A package is passed on the way to a module inside it, which takes nothing of it but its effects. The
        whole package's ``__init__`` is left out: it loads public names on first use, and holds the version.
        """
        for node in _statements(statements):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, _WHOLE
                    yield from self._passed(alias.name)
            elif isinstance(node, ast.ImportFrom):
                home = self._home(importer, node)
                yield from self._passed(f"{home}.")
                for alias in node.names:
                    yield home, alias.name if self._is_package(home) else _WHOLE
                    yield f"{home}.{alias.name}", _WHOLE
                    if home == self.package and alias.name in self._public:
                        public = self._public[alias.name]
                        yield public, alias.name if self._is_package(public) else _WHOLE
                        yield from self._passed(public)

    def _passed(self, name: str) -> Iterator[tuple[str, str]]:
        """The packages on the way to a module."""
        parts = name.split(".")
        yield from ((".".join(parts[:i]), "") for i in range(2, len(parts)))

    def _home(self, importer: str, node: ast.ImportFrom) -> str:
        """The module that a ``from`` names, seen from the importing module if it is relative."""
        if not node.level:
            return node.module or ""
        parts = importer.split(".") + ["__init__"] * self._is_package(importer)
        return ".".join([*parts[: -node.level], *([node.module] if node.module else [])])

    @cached_property
    def _public(self) -> dict[str, str]:
        """Where the public names of the package live, by its stub."""
        stub = self.folder / "__init__.pyi"
        body = ast.parse(stub.read_bytes()).body if stub.exists() else []
        nodes = [node for node in body if isinstance(node, ast.ImportFrom)]
        return {
            alias.name: f"{self.package}.{node.module or alias.name}"
            for node in nodes
            for alias in node.names
        }

    def _module(self, name: str, file: Path | None = None) -> _Module | None:
        """A module of the package, or in this file; None for a name that is none."""
        if name not in self._modules:
            path = self._path(name)
            if path is not None:
                file = path / "__init__.py" if self._is_package(name) else path.with_suffix(".py")
            self._modules[name] = _Module(file.read_bytes()) if file is not None and file.exists() else None
        return self._modules[name]

    def _path(self, name: str) -> Path | None:
        first, *rest = name.split(".")
        return self.folder.joinpath(*rest) if first == self.package and rest else None

    def _is_package(self, name: str) -> bool:
        path = self._path(name)
        return path is not None and (path / "__init__.py").exists()


class _Module:
    """The statements of a module, without docstrings and without what only type checkers read."""

    def __init__(self, source: bytes) -> None:
        self.statements, self._versions = _read(source)

    def version(self, names: frozenset[str]) -> str:
        """A hash of what makes these names."""
        if names not in self._versions:
            chosen = sorted({i for name in names for i in self.used(name)})
            self._versions[names] = _hash(ast.dump(self.statements[i]) for i in chosen)
        return self._versions[names]

    def used(self, name: str) -> set[int]:
        """Which statements make a name: its own, what they use, and all that only have effects."""
        if name == _WHOLE:
            return set(range(len(self.statements)))
        used: set[int] = set()
        waiting = self._makers.get(name, []) + self._makers.get("", [])
        while waiting:
            i = waiting.pop()
            if i not in used:
                used.add(i)
                for each in ast.walk(self.statements[i]):
                    if isinstance(each, ast.Name):
                        waiting += self._makers.get(each.id, [])
        return used

    @cached_property
    def _makers(self) -> dict[str, list[int]]:
        """The statements that give each name a value; under "" those that give none."""
        makers: dict[str, list[int]] = {}
        for i, statement in enumerate(self.statements):
            for name in _bound(statement) or [""]:
                makers.setdefault(name, []).append(i)
        return makers


@cache
def _read(source: bytes) -> tuple[list[ast.stmt], dict[frozenset[str], str]]:
    """The statements of a file, and the hashes of some of them: the same for every copy of the file."""
    body = _bare(ast.parse(source).body)
    return [part for statement in body for part in _parts(statement)], {}


def _bare(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without docstrings and ``if TYPE_CHECKING``, at every depth."""
    kept = [each for each in body if not _is_text(each) and not _is_for_type_checkers(each)]
    for statement in kept:
        for block in _blocks(statement):
            block[:] = _bare(block)
    return kept


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_for_type_checkers(statement: ast.stmt) -> bool:
    test = statement.test if isinstance(statement, ast.If) and not statement.orelse else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at every depth."""
    for statement in body:
        yield statement
        for block in _blocks(statement):
            yield from _statements(block)


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement; an import one name at a time, so that it counts only if that name is used."""
    if isinstance(statement, ast.Import):
        yield from (ast.Import([alias]) for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        yield from (ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names)
    else:
        yield statement


def _bound(statement: ast.stmt) -> list[str]:
    """The names that a definition, an import or an assignment gives a value; none for other statements."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        names = [(alias.asname or alias.name).split(".", 1)[0] for alias in statement.names]
        return [] if names == [_WHOLE] else names  # from m import *: any name may be from there
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    targets = [
        each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names if len(names) == len(targets) else []


def _hash(texts: Iterable[str]) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for text in texts:
        whole.update(f"{len(text)} ".encode() + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
