"""Open pages while the gateway is frozen, stopped and killed, and while their session ends; and new rows beside those of a reload."""

import pathlib
import signal
import subprocess
import sys

from selenium.webdriver.common.keys import Keys

from accessibility import problems_of
from demo import wait
from driver import Browser, check

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "attack"))
from gateway import Gateway

# One session has at most eight requests for changes at the same time, and each page has one.
PAGES = ["/", "/calls", "/calls?kind=refusals", "/users", "/users/bob", "/policy", "/journal", "/pairs"]
# The time after which a page must say that the gateway is not there, by the clock of the page.
LIMIT = 5_000

# Notes when the page begins to look old and current, by its own clock.
OBSERVE = """
window.seen = { old: null, current: null };
new MutationObserver(() => {
  const state = document.body.dataset.state;
  if (window.seen[state] === null) window.seen[state] = Date.now();
}).observe(document.body, { attributes: true, attributeFilter: ["data-state"] });
return Date.now();
"""
# What a user sees of the state.
STATE = """
const shown = (selector) => Array.from(document.querySelectorAll(selector)).filter((e) => e.checkVisibility());
const dim = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
const probe = document.body.appendChild(document.createElement("p"));
probe.style.color = dim;
const grey = getComputedStyle(probe).color;
probe.remove();
return {
  state: document.body.dataset.state, seen: window.seen, live: shown("[data-live-state]").length,
  notice: shown("[data-trouble]").map((e) => e.innerText).join(""), logIn: shown("[data-log-in]").map((e) => e.getAttribute("href")).join(""),
  coloured: shown("[data-refresh] .good, [data-refresh] .bad").filter((e) => getComputedStyle(e).color !== grey).length,
  values: shown(".tile .value").map((e) => e.innerText).join(" "), top: document.querySelector(".currency").getBoundingClientRect().top,
};
"""


class Served(Gateway):
    """The gateway as a browser reaches it."""

    @property
    def address(self):
        return self.console.origin


class Windows:
    """A browser with a window for each page."""

    def __init__(self, gateway, screenshots):
        self.browser = Browser(gateway, screenshots)
        self.handles = {}
        self.browser.log_in("alice")
        for path in PAGES:
            if self.handles:
                self.browser.driver.switch_to.new_window("window")
            self.browser.open(path)
            self.handles[path] = self.browser.driver.current_window_handle

    def each(self, script):
        """Returns what a script returns in each page."""
        found = {}
        for path, handle in self.handles.items():
            self.browser.driver.switch_to.window(handle)
            found[path] = self.browser.driver.execute_script(script)
        return found

    def wait(self, condition, seconds=15):
        """Waits until the condition holds for what users see in every page. Returns it by path."""
        found = {}

        def holds():
            found.update(self.each(STATE))
            return all(condition(seen) for seen in found.values())

        wait(holds, seconds)
        return found

    def log_in_again(self):
        """Follows the link of the overview and logs in there; the other windows stay as they are."""
        self.browser.driver.switch_to.window(self.handles["/"])
        self.browser.find("[data-log-in]").click()
        wait(lambda: self.browser.all("#user"))
        self.browser.find("#user").send_keys("alice")
        self.browser.find("#password").send_keys("alice", Keys.ENTER)
        wait(lambda: self.browser.all("nav"))


# What a gateway without its store, or something between it and the browser, answers, and what the page says then.
ANSWERS = [
    (503, '<main><p data-detail>The journal cannot be read.</p></main>', "Not updated since", ": The journal cannot be read."),
    (500, "Internal Server Error", "Not updated since", ": status 500."),
    (502, "<h1>Bad Gateway</h1>", "Not reachable since", ""), (504, "<h1>Gateway Timeout</h1>", "Not reachable since", ""),
    (200, "<h1>Accept the terms of this network</h1>", "Not reachable since", ""), (401, "", "Your session has ended", "Log in again"),
]


def foreign_answers(windows):
    """Lets other answers reach the page than those of the gateway."""
    browser = windows.browser
    browser.driver.switch_to.window(windows.handles["/"])
    browser.driver.execute_script("window.genuine = window.fetch")
    for status, text, begin, end in ANSWERS:
        browser.driver.execute_script("window.fetch = async () => new Response(arguments[1], { status: arguments[0] })", status, text)
        notice = lambda: browser.driver.execute_script(STATE)["notice"].strip()
        wait(lambda: notice().startswith(begin) and notice().endswith(end), 5)
        shown = notice()
        check(f"the page says what the status {status} means", shown.startswith(begin) and shown.endswith(end), shown)
    browser.driver.execute_script("window.fetch = window.genuine")


def suspension(windows, gateway):
    """Lets the clock of the browser jump, as it does while a machine is suspended, before the gateway can answer."""
    browser = windows.browser
    browser.driver.switch_to.window(windows.handles["/"])
    browser.driver.execute_script("window.clock = Date.now; window.jump = 0; Date.now = () => window.clock() + window.jump;" + OBSERVE)
    gateway.process.send_signal(signal.SIGSTOP)
    try:
        # An answer that was on its way counts after the first jump.
        jump = "window.jump += 60000; return window.seen.old !== null && document.querySelector('[data-text]').textContent"
        shown = wait(lambda: browser.driver.execute_script(jump), 2)
        check("a page that was suspended is old at once", shown and shown.startswith("Not updated since"), shown)
    finally:
        gateway.process.send_signal(signal.SIGCONT)


def is_current(seen):
    return seen["state"] == "current" and not seen["notice"]


def verify_current(windows, when):
    found = windows.wait(is_current)
    wrong = [path for path, seen in found.items() if not is_current(seen)]
    check(f"every page is current {when}", not wrong, ", ".join(wrong))
    check(f"pages that update themselves say so {when}", all((seen["live"] == 1) == (path != "/pairs") for path, seen in found.items()))
    check(f"the overview shows the state {when}", "ready" in found["/"]["values"] and "unknown" not in found["/"]["values"], found["/"]["values"])


def verify_old(windows, what, begin, sentence):
    """Every page must say within the limit, by its own clock, that it is not current."""
    found = windows.wait(lambda seen: seen["state"] == "old" and sentence in seen["notice"])
    for path, seen in found.items():
        late = (seen["seen"]["old"] or 1e15) - begin
        check(f"{path} shows within 5 s that {what}", late < LIMIT and sentence in seen["notice"], f"{late} ms, {seen['notice']!r}")
        check(f"{path} keeps no badge and no colour when {what}", not seen["live"] and not seen["coloured"], seen)
    check(f"the overview shows no state when {what}", set(found["/"]["values"].split()) == {"unknown"}, found["/"]["values"])
    return found


def pictures(windows, gateway, screenshots, name):
    """Keeps pictures of the overview with the notice, also dark and narrow, and verifies its accessibility."""
    browser = windows.browser
    browser.driver.switch_to.window(windows.handles["/"])
    for kind, dark, width in [("wide", False, None), ("dark", True, None), ("phone", False, 390)]:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        if width:
            browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": True})
        browser.screenshot(f"{name}-{kind}")
        found = problems_of(browser.driver)
        check(f"a page that is old is accessible ({name}, {kind})", not found, "; ".join(found[:5]))
        overflow = browser.driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        check(f"a page that is old fits the width ({name}, {kind})", overflow <= 0, f"{overflow} px over")
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})


def outages(demo, screenshots):
    with Served(demo.program) as gateway:
        gateway.register("bob")
        gateway.send("alice", "bob")
        windows = Windows(gateway, screenshots)
        verify_current(windows, "at first")

        windows.each(OBSERVE)
        begin = windows.browser.driver.execute_script("return Date.now()")
        gateway.process.send_signal(signal.SIGSTOP)
        try:
            verify_old(windows, "the gateway is frozen", begin, "Not reachable since")
            pictures(windows, gateway, screenshots, "unreachable")
            windows.browser.driver.execute_script("window.scrollTo(0, document.body.scrollHeight)")
            check("the notice stays in view", windows.browser.driver.execute_script(STATE)["top"] >= 0)
        finally:
            gateway.process.send_signal(signal.SIGCONT)
        verify_current(windows, "after a freeze")

        suspension(windows, gateway)
        verify_current(windows, "after a suspension")
        foreign_answers(windows)
        verify_current(windows, "after answers of others")

        windows.each(OBSERVE)
        begin = windows.browser.driver.execute_script("return Date.now()")
        gateway.command("tokens", "revoke", "--user", "alice", check=False)
        found = verify_old(windows, "the session has ended", begin, "Your session has ended")
        pictures(windows, gateway, screenshots, "session-ended")
        check("pages lead to the login", found["/users/bob"]["logIn"] == "/login?next=%2Fusers%2Fbob", found["/users/bob"]["logIn"])
        windows.log_in_again()
        verify_current(windows, "after a login in another window")

        windows.each(OBSERVE)
        windows.browser.driver.switch_to.window(windows.handles["/"])
        begin = windows.browser.driver.execute_script(OBSERVE)
        windows.browser.driver.execute_script("""
            const form = document.querySelector("form.account");
            fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" });""")
        verify_old(windows, "the user has logged out elsewhere", begin, "Your session has ended")
        windows.log_in_again()
        verify_current(windows, "after a logout")

        for what, end in [("killed", signal.SIGKILL), ("stopped", signal.SIGTERM)]:
            windows.each(OBSERVE)
            begin = windows.browser.driver.execute_script("return Date.now()")
            gateway.process.send_signal(end)
            verify_old(windows, f"the gateway was {what}", begin, "Not reachable since")
            gateway.process.wait(timeout=60)
            gateway.start()
            # Sessions are in memory, so those of the process before are gone.
            windows.wait(lambda seen: "Your session has ended" in seen["notice"])
            windows.log_in_again()
            verify_current(windows, f"after a start, when the gateway was {what}")
        windows.browser.driver.quit()


ROWS = """
return Array.from(document.querySelectorAll("table.calls"), (table) => Array.from(table.rows, (row) =>
  Array.from(row.cells, (cell) => cell.innerText.trim() + " " + Array.from(cell.querySelectorAll("a"), (a) => a.getAttribute("href")).join())));
"""


def rows(demo, screenshots):
    """Calls appear on open pages as a reload shows them: sends, rejected ones, and one row for a send to an audience."""
    rules = ', { from: alice, to: "audience:oncall" }'
    with Served(demo.program, more="audiences: { oncall: [bob, carol] }", rules=rules) as gateway:
        for user in ["bob", "carol"]:
            gateway.register(user)
        gateway.send("alice", "bob")
        browser = Browser(gateway, screenshots)
        browser.log_in("alice")
        live = browser.driver.current_window_handle
        browser.driver.switch_to.new_window("window")
        reloaded = browser.driver.current_window_handle

        def rows_of(window, path=None):
            browser.driver.switch_to.window(window)
            if path:
                browser.open(path)
            return browser.driver.execute_script(ROWS)

        # Each round has two sends of alice, and two that are rejected: of a user whom no rule allows, and of an unknown one. Others than
        # in the rounds before, because equal rejections become one record. The summary of rejections on the overview, whose rows have no
        # details, is new as a whole or row by row, as the page happens to look.
        rounds = [("/", 4), ("/calls", 4), ("/calls?kind=refusals", 2), ("/calls?from=alice", 2), ("/calls?result=accepted", 2)]
        for number, (path, wanted) in enumerate(rounds):
            before = rows_of(live, path)
            wait(lambda: browser.find("[data-live-state]").is_displayed())
            gateway.send("alice", "bob")
            gateway.send("alice", "audience:oncall")
            gateway.send(["bob", "carol", "dave"][number % 3], "audience:oncall")
            gateway.call("POST", "/api/notifications?pns=apns&to_tag=bob", f"mallory{number}", '"hello"')
            shown, new = [], []

            def is_same():
                shown[:], new[:] = [rows_of(live)], [text for text in (row.text for row in browser.all("tr.new")) if "details" in text]
                shown.append(rows_of(reloaded, path))
                return shown[0] == shown[1] != before and len(new) == wanted

            wait(is_same, 8)
            check(f"{path} has the rows of a reload", shown[0] == shown[1] != before, "" if shown[0] == shown[1] else f"\n{shown[0]}\n{shown[1]}")
            check(f"{path} has one new row for each call", len(new) == wanted, len(new) if len(new) == wanted else new)
        rows_of(live)
        browser.screenshot("rows")
        check("no message in the browser's console (rows)", not browser.read_log(), "; ".join(browser.messages[:3]))
        browser.close()
