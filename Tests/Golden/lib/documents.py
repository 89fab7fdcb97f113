"""Documents of questions and answers, which become the text of the masters."""

import json

import client
import normal
import worlds


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

    def use_lines(self, name, world):
        """Writes lines that are equal to lines of this journal as their numbers."""
        for segment in sorted((world.directory / "journal").glob("journal-*.jsonl")):
            for line in segment.read_text().splitlines():
                if line.endswith("}"):
                    self.lines[line] = f"[line {json.loads(line)['seq']} of {name}]"

    def add(self, title, text):
        text = "\n".join(self.lines.get(line, line) for line in text.split("\n"))
        self.sections.append(self.normalise(f"### {title}\n{text.rstrip()}\n"))

    def run(self, world, *arguments, text=None, configured=True, shown=None):
        """Runs a command and adds what it prints."""
        status, out, error = world.run(*arguments, text=text, configured=configured)
        parts = [out.rstrip("\n")] if out else []
        parts += ["--- messages", error.rstrip("\n")] if error else []
        parts += [f"--- status {status}"] if status else []
        self.add("$ " + (shown or " ".join(quoted(word) for word in arguments)), "\n".join(parts))
        return out

    def response(self, title, response, only_body=False):
        """Adds a response of HTTP: its head without the length, which varies with values, and its body."""
        self.add(title, shown(response))

    def text(self):
        return "\n".join(self.sections)


def quoted(word):
    return f"'{word}'" if not word or set(word) & set(' "&?*\n') else word


def shown(response):
    """Returns a response as text. Bytes that are not UTF-8 become escapes."""
    reply = client.parse(response)
    head = response.partition(b"\r\n\r\n")[0].decode("latin-1").replace("\r\n", "\n")
    body = reply.body.decode("utf-8", "backslashreplace")
    if (reply.get("content-type") or "").startswith(("application/json", "application/problem+json")) and len(body) > 200:
        body = json.dumps(json.loads(body), indent=1, ensure_ascii=False)
    head = "\n".join(line for line in head.split("\n") if not line.lower().startswith(("content-length", "transfer-encoding")))
    return f"{head}\n\n{body}" if body else head
