"""Logs in to the console at an identity provider, as a browser does."""

import html
import re
import urllib.parse

import httpx


class Browser:
    """A browser with the cookies of the console. It sends those with SameSite=Strict only with requests of the console's own
    pages, as browsers do."""

    def __init__(self, console):
        self.console = console
        self.cookies = {}

    def get(self, url, cross_site=False):
        """Requests a page of the console by its path or URL, and follows nothing."""
        url = urllib.parse.urljoin(self.console, url)
        sent = [f"{name}={value}" for name, (value, strict) in self.cookies.items() if not (strict and cross_site)]
        response = httpx.get(url, headers={"Cookie": "; ".join(sent)} if sent else {}, timeout=20)
        for text in response.headers.get_list("set-cookie"):
            pair, *attributes = [part.strip() for part in text.split(";")]
            name, value = pair.split("=", 1)
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = (value, "SameSite=Strict" in attributes)
        return response

    def begin(self, page="/"):
        """Follows the link of the login page. Returns the URL of the provider."""
        login = self.get("/login?next=" + urllib.parse.quote(page, safe="")).text
        link = html.unescape(re.search(r'href="(/login/provider[^"]*)"', login)[1])
        return self.get(link).headers["Location"]

    def log_in(self, approve, page="/"):
        """Logs in at the provider. Returns the callback, its response, and the page that follows.

        approve takes the URL of the provider and returns that of its redirection.
        """
        callback = approve(self.begin(page))
        response = self.get(callback, cross_site=True)
        refresh = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', response.text)
        return callback, response, self.get(html.unescape(refresh[1])) if refresh else None
