"""Documents of questions and answers, which become the text of the masters."""

import json
import re
import zlib

import client
import normal
import worlds

# What the embedded backend of a command logs at its end, or not.
UNCERTAIN = re.compile(r"(?m)^.* error Waiting on child channel: CancellationError\(\)\n")
# Where a page can be cut: before its larger elements, and after the head of the response.
BLOCK = re.compile(r"\n\n|\n(?=<(?:header|main|h1|h2|section|table|tr|svg|g|form|footer)\b)")


class Document:
    """One master: sections with a title and an answer, in the order in which they happened."""

    def __init__(self, *worlds_of_it):
        replacements = []
        for world in worlds_of_it:
            replacements += [(world.directory, "<directory>"), (world.program, "<program>"), (world.version(), "<version>")]
        replacements.append((worlds.ROOT, "<repository>"))
        self.normalise = normal.Normaliser(replacements)
        self.sections = []
        # The lines of recorded journals, which answers repeat unchanged.
        self.lines = {}
        # The blocks and long lines that were written before.
        self.written = set()

    def use_lines(self, name, world):
        """Writes lines that are equal to lines of this journal as their numbers."""
        for segment in sorted((world.directory / "journal").glob("journal-*.jsonl")):
            for line in segment.read_text().splitlines():
                if line.endswith("}"):
                    self.lines[line] = f"[line {json.loads(line)['seq']} of {name}]"

    def add(self, title, text):
        text = "\n".join(self.lines.get(line.strip(), line) for line in text.replace("\r", "\\r").split("\n"))
        self.sections.append(f"### {title}\n{self.fold(self.normalise(text.rstrip()))}\n")

    def fold(self, text):
        """Writes blocks and lines that occurred before in short."""
        parts = []
        for block in BLOCK.split(text):
            short = self.short(block, 200, "block") if "\n" in block else None
            parts += [short] if short else [self.short(line, 130, "line") or line for line in block.split("\n")]
        return "\n".join(parts)

    def short(self, text, length, kind):
        """Returns the begin and a checksum of a long text that occurred before; None for any other."""
        if len(text) < length or text not in self.written:
            self.written.add(text)
            return None
        return f"[{kind} above {zlib.crc32(text.encode()):08x}: {' '.join(text[:60].split())}]"

    def run(self, world, *arguments, text=None, configured=True, shown=None):
        """Runs a command and adds what it prints."""
        status, out, error = world.run(*arguments, text=text, configured=configured)
        error = UNCERTAIN.sub("", error)
        parts = [out.rstrip("\n")] if out else []
        parts += ["--- messages", error.rstrip("\n")] if error else []
        parts += [f"--- status {status}"] if status else []
        self.add("$ " + (shown or " ".join(quoted(word) for word in arguments)), "\n".join(parts))
        return out

    def response(self, title, response, only_body=False):
        """Adds a response of HTTP: its head without the length, which varies with values, and its body."""
        self.add(title, shown(response))

    def beside(self, name, other):
        """Returns the text with a note in place of each section that another document has too."""
        same = [section if section not in other.sections else section.partition("\n")[0] + f"\nas in {name}\n"
                for section in self.sections]
        return "\n".join(same)

    def text(self):
        return "\n".join(self.sections)


def pretty(document):
    """Returns a document with a line for each member, and for each item of a list."""
    if not isinstance(document, dict):
        return json.dumps(document, ensure_ascii=False)
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{name}:", *("  " + json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in value)]
        else:
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines)


def quoted(word):
    return f"'{word}'" if not word or set(word) & set(' "&?*\n') else word


def shown(response):
    """Returns a response as text. Bytes that are not UTF-8 become escapes."""
    reply = client.parse(response)
    head = response.partition(b"\r\n\r\n")[0].decode("latin-1").replace("\r\n", "\n")
    body = reply.body.decode("utf-8", "backslashreplace")
    if (reply.get("content-type") or "").startswith(("application/json", "application/problem+json")) and len(body) > 200:
        body = pretty(json.loads(body))
    head = "\n".join(line for line in head.split("\n") if not line.lower().startswith(("content-length", "transfer-encoding")))
    return f"{head}\n\n{body}" if body else head
