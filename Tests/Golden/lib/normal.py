"""What may differ between two runs, and what stands in its place. README.md explains the table."""

import re

import worlds

# The kinds in the order in which they are replaced, with their patterns. A value that a recorded input has stays as it is.
# A pattern with a group replaces the group only.
KINDS = [
    ("date", r"(?m)^Date: ([A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)"),
    ("reset", r'(?m)^RateLimit: "[\w-]+";r=\d+;t=(\d+)'),
    ("wait", r"(?m)^Retry-After: (\d{3,})"),
    ("seen", r'"seen":(\d+)'),
    ("token", r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"),
    ("time", r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?"),
    ("stamp", r"\b20\d{6}T\d{6}(?:\.\d+)?Z"),
    ("microseconds", r"\b1[78]\d{14}\b"),
    ("hexadecimal-time", r'(?<="name":")(?:agreed-time|imported|unconfirmed-until)","value":"([0-9a-f]+)'),
    ("session", r'"session":"([\w-]{22})"'),
    ("cookie", r"(?<=notify-gateway-console=)[\w-]{20,}"),
    ("form-token", r'(?<=name="token" value=")[^"]{16,}'),
    ("registration", r"\b\d{8,20}-\d{8,20}-\d{1,3}\b"),
    ("hash", r"\b[0-9a-f]{64}\b"),
    ("handle", r"\b[0-9A-F]{64}\b"),
    ("id", r"\b[0-9a-f]{32}\b"),
    ("signature", r'(?<="signature":")[A-Za-z0-9+/=]{80,}'),
    ("span", r"\b[0-9a-f]{16}\b"),
    ("port", r"(?:127\.0\.0\.1|\[::1\]|localhost):(\d{4,5})\b"),
    ("milliseconds", r'"(?:ms|milliseconds)":(\d+)'),
    ("duration", r"\b\d+(?:\.\d+)? (?:ms|milliseconds)\b"),
]
COMPILED = [(name, re.compile(pattern)) for name, pattern in KINDS]


def values(pattern, text):
    """Yields the place of each value of a kind."""
    for match in pattern.finditer(text):
        yield match.span(pattern.groups)


def relative(value):
    """Returns how far a time is from the begin of the comparison, in half hours, as it takes less than some minutes.

    A time that is not a number of half hours away does not come from the clock, and stays as it is.
    """
    if value.isdigit():
        at = int(value) // 1_000_000
    else:
        at = worlds.seconds(re.sub(r"\.\d+|Z|\+00:00", "", value).replace(" ", "T") + "Z")
    halves, rest = divmod(at - worlds.seconds(worlds.READ) + 60, 1800)
    return value if rest > 600 else f"<now{halves / 2:+g}h>" if halves else "<now>"


class Known:
    """The values of the recorded inputs."""

    def __init__(self):
        self.found = set()
        for path in sorted(worlds.INPUTS.rglob("*")):
            if path.is_file():
                text = path.read_text(errors="replace")
                for name, pattern in COMPILED:
                    if name not in ("port", "milliseconds"):
                        self.found.update((name, text[start:end]) for start, end in values(pattern, text))
        # Pages and tables show times without fractions.
        times = [value for kind, value in self.found if kind == "time"]
        for value in times:
            whole = re.sub(r"\.\d+|Z|\+00:00", "", value)
            for form in (whole, whole + "Z", whole.replace("T", " "), whole.replace("T", " ") + "Z"):
                self.found.add(("time", form))


class Normaliser:
    """Replaces the values of one document by tokens with numbers, so that equal values have equal tokens."""

    known = None

    def __init__(self, replacements=()):
        """`replacements` are texts that are replaced by a word."""
        if Normaliser.known is None:
            Normaliser.known = Known()
        self.replacements = []
        for found, word in replacements:
            self.replace(found, word)
        self.kinds = list(COMPILED)
        self.tokens = {}

    def replace(self, found, word):
        """Replaces a text, unless it is a part of a longer word."""
        self.replacements.append((re.compile(rf"(?<![\w.]){re.escape(str(found))}(?![\w-])"), word))
        self.replacements.sort(key=lambda pair: -len(pair[0].pattern))

    def also(self, kind, pattern):
        """Adds a kind that only this document has."""
        self.kinds.insert(0, (kind, re.compile(pattern)))

    def token(self, kind, value):
        if kind in ("date", "reset", "seen"):
            return f"<{kind}>"
        if kind == "wait":
            return f"<at most {-(-int(value) // 600) * 10} min>"
        if kind in ("time", "microseconds"):
            return relative(value)
        numbers = self.tokens.setdefault(kind, {})
        return f"<{kind}-{numbers.setdefault(value, len(numbers) + 1)}>"

    def __call__(self, text):
        for found, word in self.replacements:
            text = found.sub(word, text)
        for kind, pattern in self.kinds:
            parts, end_before = [], 0
            for start, end in values(pattern, text):
                if (kind, text[start:end]) in self.known.found:
                    continue
                parts += [text[end_before:start], self.token(kind, text[start:end])]
                end_before = end
            text = "".join(parts) + text[end_before:]
        return text
