"""Texts that try to leave the place in a page where they are shown."""

import json
import pathlib

# What a browser would run if a page contained it: each breaks out of another context.
OWN = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>', "'><img src=x onerror=alert(1)>", '" onmouseover="alert(1)',
    "' onmouseover='alert(1)", '" autofocus onfocus=alert(1) x="', "` onmouseover=alert(1)", "x onclick=alert(1)",
    "</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>", "</bdi></td></tr></table><h1>x",
    "</form><form action=//evil.example>", "</select><option>x", "</dd></dl><h1>x", "</style><script>x</script>",
    "</main></body></html><script>x</script>", "<!--", "--><script>x</script>", "<!--><img src=x onerror=x>",
    "<![CDATA[<script>x</script>]]>", "<?xml version='1.0'?>", "<!doctype html><x>", "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>", "<math><mi xlink:href=javascript:x>", "<iframe srcdoc='<b>'>",
    "<a href=javascript:alert(1)>x</a>", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "vbscript:x", "//evil.example/", "/\\evil.example", "https://evil.example",
    "<base href=//evil.example>", "<meta http-equiv=refresh content=0;//evil.example>", "<link rel=stylesheet href=//e>",
    "<style>*{display:none}</style>", "<object data=x>", "<embed src=x>", "<details open ontoggle=alert(1)>",
    "{{formToken}}", "{{{content}}}", "{{> frame}}", "{{#session}}{{formToken}}{{/session}}", "{{=<% %>=}}", "${7*7}",
    "<%= 7*7 %>", "#{7*7}", "{{constructor.constructor('x')()}}", "[[${7*7}]]", "&lt;script&gt;", "&#60;b&#62;",
    "&amp;lt;", "&quot;&gt;<b>", "%3Cscript%3E", "\\u003cscript\\u003e", "\u202e<b>txt.exe\u202c", "\u2066<i>\u2069",
    "\u200b<b>\u200b", "\ufeff<b>", "\uff1cscript\uff1e", "<\u0131mg src=x>", "\u2028<b>\u2029", "e\u0301<b>", "\U0001f469<b>",
    "<b\u00a0onclick=x>", "a\x00<b>", "\x00", "a\x0b<b>", "a\x0c<b onclick=x>", "a\r\nSet-Cookie: x=y\r\n\r\n<b>", "a\x1b[31m<b>",
    "a\x7f\x85<b>", "../../users/alice", "%2e%2e%2f", "alice/changes?done=revoke-user", "alice#<b>", "'; DROP TABLE x;--",
    "=1+1", "@x", "-1", "<" * 200, '"' * 200, "<b>" * 60, "\ud800<b>",
]

BLNS = pathlib.Path(__file__).resolve().parents[5] / "shared" / "corpora" / "blns.json"


def naughty():
    """Returns the Big List of Naughty Strings if it is beside the repository; nothing otherwise."""
    if not BLNS.exists():
        return []
    return [text for text in json.loads(BLNS.read_text()) if text]


def labels(payloads):
    """Returns the payloads that are valid names of devices: 1 to 64 bytes without control characters."""

    def valid(text):
        try:
            return 1 <= len(text.encode()) <= 64 and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
        except UnicodeEncodeError:
            return False

    return [text for text in payloads if valid(text)]
