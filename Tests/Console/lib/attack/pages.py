"""The structure of pages, compared with that of the templates."""

import html.parser
import pathlib
import re

RESOURCES = pathlib.Path(__file__).resolve().parents[4] / "Sources/GatewayConsole/Resources"
# The elements and attributes of the pictures, which no template contains.
_SHAPE = "class transform stroke-width"
PICTURES = {
    "svg": "class id viewbox role aria-labelledby width height xmlns", "g": f"{_SHAPE} role aria-labelledby", "path": f"{_SHAPE} d",
    "circle": f"{_SHAPE} cx cy r", "rect": f"{_SHAPE} x y width height rx", "a": "class", "title": "id", "desc": "id",
    "text": "class x y text-anchor transform",
}


class Structure(html.parser.HTMLParser):
    """The elements, attributes and texts of a document, and whatever else it contains."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.texts = []
        self.others = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, attributes))
        self.texts += [value for _, value in attributes if value]

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.others.append(f"the comment {data[:60]!r}")

    def handle_decl(self, decl):
        if decl.lower() != "doctype html":
            self.others.append(f"the declaration {decl[:60]!r}")

    def handle_pi(self, data):
        self.others.append(f"the instruction {data[:60]!r}")

    def unknown_decl(self, data):
        self.others.append(f"the declaration {data[:60]!r}")


def _allowed():
    """Returns the attributes of each element of the templates and the pictures."""
    allowed = {tag: set(names.split()) for tag, names in PICTURES.items()}
    for path in RESOURCES.glob("*.mustache"):
        text = re.sub(r"\{\{\{?[^}]*\}?\}\}", "", path.read_text())
        for tag, attributes in Structure(text).elements:
            allowed.setdefault(tag, set()).update(name for name, _ in attributes)
    return allowed


ALLOWED = _allowed()


def problems_of(text, payloads=()):
    """Returns what a page contains that its template does not, and the payloads that it contains unescaped."""
    structure, problems = Structure(text), []
    problems += structure.others
    for tag, attributes in structure.elements:
        names = [name for name, _ in attributes]
        if tag not in ALLOWED:
            problems.append(f"the element <{tag}>")
            continue
        problems += [f"the attribute {name} of <{tag}>" for name in names if name not in ALLOWED[tag]]
        if len(names) != len(set(names)):
            problems.append(f"an attribute of <{tag}> twice")
        for name, value in attributes:
            if name in ("href", "src", "action", "data-live", "data-page") and not re.match(r"/(?![/\\])|#content$", value or ""):
                problems.append(f"{name}={value[:60]!r} of <{tag}>")
    counts = {tag: sum(1 for each, _ in structure.elements if each == tag) for tag in ("html", "main", "script", "body")}
    problems += [f"{count} elements <{tag}>" for tag, count in counts.items() if count != 1]
    if not text.rstrip().endswith("</html>"):
        problems.append("no </html> at the end")
    problems += [f"unescaped: {each[:60]!r}" for each in payloads if re.search("[<>\"]", each) and len(each) > 3 and each in text]
    return problems


def shows(text, payload):
    """Returns whether a page has the text in an attribute or an element: that it is shown as it is."""
    return any(payload in each for each in Structure(text).texts)
