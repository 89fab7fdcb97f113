"""Finds cycles between the folders of one Swift target, from the types that its files declare and use.

A file depends on the files that declare the top-level types it names. A nested type counts where it is written after its
outer type (`Outer.Nested`), or alone in a file that declares or extends the outer type. Comments, string literals and
import lines do not count; expressions that are interpolated into a string do not count either. Members that an extension
adds are not resolved, because that needs the compiler.
"""

import os
import re
from collections import defaultdict

DECLARATION = re.compile(r"\b(struct|class|enum|protocol|actor|typealias|extension)\s+([A-Za-z_][\w.]*)")
NAME = re.compile(r"(?<![\w.`])[A-Z]\w*(?:\.[A-Z]\w*)*")
GENERIC = re.compile(r"(?:\b(?:func\s+(?:\w+|[^\s\w(]+)|init\??|struct\s+\w+|class\s+\w+|enum\s+\w+|actor\s+\w+"
                     r"|typealias\s+\w+|subscript))\s*<([^>]*)>")
TOKEN = re.compile(r'//[^\n]*|/\*|#*"""|#*"')


def code(text):
    """Returns the text with comments and string literals blanked, line by line."""
    parts = []
    position = 0
    while found := TOKEN.search(text, position):
        parts.append(text[position:found.start()])
        end = literal_end(text, found)
        parts.append("".join(c if c == "\n" else " " for c in text[found.start():end]))
        position = end
    parts.append(text[position:])
    return "".join(parts)


def literal_end(text, found):
    """Returns the end of the comment or the string literal that begins at the match."""
    token = found.group()
    if token.startswith("//"):
        return found.end()
    if token == "/*":
        depth, position = 1, found.end()
        while depth:
            step = re.compile(r"/\*|\*/").search(text, position)
            if not step:
                return len(text)
            depth += 1 if step.group() == "/*" else -1
            position = step.end()
        return position
    marks = token.count("#")
    closing = token[marks:] + "#" * marks
    escape = "\\" + "#" * marks
    position = found.end()
    while position < len(text):
        if text.startswith(closing, position):
            return position + len(closing)
        if text.startswith(escape + "(", position):
            position = interpolation_end(text, position + len(escape) + 1)
        elif text.startswith(escape, position):
            position += len(escape) + 1
        else:
            position += 1
    return len(text)


def interpolation_end(text, position):
    """Returns the end of an interpolated expression that begins after its parenthesis."""
    depth = 1
    while position < len(text) and depth:
        if found := TOKEN.match(text, position):
            position = literal_end(text, found)
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position


class File:
    """The declarations and the uses of one file."""

    def __init__(self, path, text):
        self.path = path
        text = re.sub(r"(?m)^[^\S\n]*(?:@\w+ +)*(?:(?:public|package|internal|fileprivate|private) +)?import .*$", "",
                      code(text))
        self.top, self.nested, self.outer = set(), defaultdict(set), set()
        self.private = set()
        stack, depth = [], 0
        for token in re.finditer(DECLARATION.pattern + r"|[{}]", text):
            if token.group() == "{":
                depth += 1
                if stack and stack[-1][1] is None:
                    stack[-1][1] = depth
                continue
            if token.group() == "}":
                while stack and stack[-1][1] == depth:
                    stack.pop()
                depth -= 1
                continue
            kind, name = token.group(1), token.group(2)
            if name in ("func", "var", "let", "subscript", "init"):
                continue  # `class func`
            stack = [entry for entry in stack if entry[1] is not None]
            outer = stack[-1][0] if stack else ""
            head = text[text.rfind("\n", 0, token.start()) + 1:token.start()]
            qualified = f"{outer}.{name}" if outer else name
            if kind == "extension":
                self.outer.add(name)
            elif not outer and depth == 0:
                (self.private if re.search(r"\b(private|fileprivate)\b", head) else self.top).add(name)
                self.outer.add(name)
            else:
                self.nested[outer].add(name)
                self.outer.add(qualified)
            if kind != "typealias":
                stack.append([qualified, None])
        self.generics = {
            word.split(":")[0].replace("each", "").replace("let", "").strip()
            for match in GENERIC.finditer(text) for word in match.group(1).split(",")
        }
        self.generics |= set(re.findall(r"\bassociatedtype\s+(\w+)", text))
        self.uses = {}
        for found in NAME.finditer(text):
            self.uses.setdefault(found.group(), text.count("\n", 0, found.start()) + 1)


class Target:
    """The files of one target and the dependencies between them."""

    def __init__(self, files):
        self.files = files
        self.tops, self.nested = defaultdict(set), defaultdict(set)
        for file in files:
            for name in file.top:
                self.tops[name].add(file.path)
            for outer, names in file.nested.items():
                for name in names:
                    self.nested[f"{outer}.{name}"].add(file.path)

    @classmethod
    def read(cls, root):
        files = []
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                if name.endswith(".swift"):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as stream:
                        files.append(File(os.path.relpath(path, root), stream.read()))
        return cls(sorted(files, key=lambda file: file.path))

    def references(self):
        """Yields (user, line, name, declaring file) for each type that a file names and another file declares."""
        for file in self.files:
            for name, line in file.uses.items():
                for path in self.declaring(file, name):
                    if path != file.path:
                        yield file.path, line, name, path

    def declaring(self, file, name):
        """Returns the files that declare what a use means, or an empty set for a name of another module."""
        first, *rest = name.split(".")
        if first in file.private or first in file.generics:
            return set()
        for outer in file.outer:
            scopes = outer.split(".")
            for length in range(len(scopes), 0, -1):
                qualified = ".".join(scopes[:length] + [first])
                if qualified in self.nested:
                    return self.nested[qualified]
        if first not in self.tops:
            return set()
        paths = set(self.tops[first])
        for length in range(1, len(rest) + 1):
            paths |= self.nested.get(".".join([first] + rest[:length]), set())
        return paths


def folder_edges(references, parent):
    """Returns the dependencies between the folders directly below `parent`, each with the references that cause it."""
    edges = defaultdict(list)
    prefix = parent + "/" if parent else ""
    for user, line, name, path in references:
        if user.startswith(prefix) and path.startswith(prefix):
            source, target = user[len(prefix):].split("/"), path[len(prefix):].split("/")
            if len(source) > 1 and len(target) > 1 and source[0] != target[0]:
                edges[prefix + source[0], prefix + target[0]].append((user, line, name, path))
    return edges


def groups(edges):
    """Returns the sets of folders that reach each other (strongly connected components of more than one)."""
    reach = defaultdict(set)
    for source, target in edges:
        reach[source].add(target)
    changed = True
    while changed:
        changed = False
        for source in list(reach):
            more = set().union(*(reach[target] for target in list(reach[source]))) if reach[source] else set()
            if not more <= reach[source]:
                reach[source] |= more
                changed = True
    found = {frozenset({a} | {b for b in reach[a] if a in reach[b]}) for a in reach if a in reach[a]}
    return sorted(sorted(group) for group in found)


def cycles(target):
    """Yields each group of sibling folders that depend on each other, with the dependencies inside the group."""
    references = sorted(set(target.references()))
    parents = {""}
    for file in target.files:
        parts = file.path.split("/")[:-1]
        parents |= {"/".join(parts[:length]) for length in range(1, len(parts) + 1)}
    for parent in sorted(parents):
        edges = folder_edges(references, parent)
        for group in groups(edges):
            inside = {pair: uses for pair, uses in edges.items() if pair[0] in group and pair[1] in group}
            yield group, inside
