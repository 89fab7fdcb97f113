"""Uses the operator console in a real browser, as its users do: Debian's Chromium, headless.

Every check can fail. Screenshots are written to the directory that --screenshots names.
"""

import argparse
import os
import sys
import tempfile
import time

from selenium.webdriver.common.keys import Keys

import driver
from accessibility import problems_of
from demo import Demo, wait
from driver import Browser, check
from outages import outages, rows


def fill(demo):
    """Makes calls of several users, so that every page has content."""
    demo.register("bob", "0DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE3")
    demo.register("alice", "A11CE0A11CE0A11CE0A11CE0A11CE0A11CE0A11CE0A11CE0A11CE0A11CE0A11C")
    demo.log_in("bob", "bob's <b>phone</b>")
    demo.log_in("alice", "alice's tablet")
    for _ in range(12):
        demo.send("alice", "bob")
    for _ in range(3):
        demo.send("bob", "alice")
    demo.call("POST", "/api/notifications?pns=apns&to_tag=bob", "mallory", '"hello"')
    demo.call("POST", "/api/notifications?pns=pigeon&to_tag=bob", "alice", '"hello"')


PAGES = ["/", "/pairs", "/calls", "/calls?kind=refusals", "/users", "/users/bob", "/policy", "/journal"]


def pages(demo, screenshots):
    """Opens each page, wide and narrow, light and dark."""
    for name, width, dark in [("wide", 1200, False), ("dark", 1200, True), ("phone", 390, False)]:
        browser = Browser(demo, screenshots, width=width, dark=dark)
        browser.open("/login")
        browser.screenshot(f"login-{name}")
        browser.log_in("alice")
        for path in PAGES:
            browser.open(path)
            title = path.strip("/").replace("/", "-").replace("?", "-").replace("=", "-") or "overview"
            browser.screenshot(f"{title}-{name}")
            overflow = browser.driver.execute_script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            check(f"{path} fits the width ({name})", overflow <= 0, f"{overflow} px over")
            found = problems_of(browser.driver)
            check(f"{path} is accessible ({name})", not found, "; ".join(found[:5]))
        check(f"no message in the browser's console ({name})", not browser.read_log(), "; ".join(browser.messages[:3]))
        browser.close()


def live(demo, screenshots):
    """A send appears on open pages within a second, and following links leads to it."""
    browser = Browser(demo, screenshots)
    browser.log_in("alice")
    for path in ["/", "/calls", "/calls?from=alice"]:
        browser.open(path)
        wait(lambda: browser.find("[data-live-state]").is_displayed())
        before = len(browser.all("tr.new"))
        start = time.monotonic()
        check("a send is accepted", demo.send("alice", "bob") == 200)
        wait(lambda: len(browser.all("tr.new")) > before, 5)
        seconds = time.monotonic() - start
        check(f"a send appears on {path} within 1 s", seconds < 1, f"{seconds:.2f} s")
    browser.open("/calls?from=bob")
    wait(lambda: browser.find("[data-live-state]").is_displayed())
    demo.send("alice", "bob")
    demo.send("bob", "alice")
    wait(lambda: browser.all("tr.new"), 5)
    check("a filtered page shows only its calls", len(browser.all("tr.new")) == 1, len(browser.all("tr.new")))
    browser.find("tr.new td:last-child a").click()
    wait(lambda: "/calls/" in browser.path())
    check("details of a new row lead to the call", "outcome" in browser.text() and "intent" in browser.text())
    check("no message in the browser's console (live)", not browser.read_log(), "; ".join(browser.messages[:3]))
    browser.close()


def pictures(demo, screenshots):
    """The matrix of senders and recipients leads to the calls."""
    browser = Browser(demo, screenshots)
    browser.log_in("alice")
    browser.open("/pairs")
    shown = wait(lambda: browser.all("figure svg"))
    check("the page has pictures", len(shown) >= 2, len(shown))
    links = [link for link in browser.all("figure svg a") if "from=alice" in (link.get_attribute("href") or "")]
    if not links:
        links = browser.driver.execute_script(
            "return [...document.querySelectorAll('figure svg a')].filter(a => "
            "(a.getAttribute('href') || '').includes('from=alice'))")
    check("a cell of the matrix is a link", bool(links))
    if links:
        browser.driver.execute_script(
            "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))", links[0])
        wait(lambda: "/calls" in browser.path())
        check("a cell leads to the calls", "from=alice" in browser.path() and "to=bob" in browser.path(), browser.path())
        check("these are calls of the pair", browser.all("tbody tr"))
    browser.close()


def changes(demo, screenshots):
    """An operator ends a session and revokes a device; both are recorded with the name before they happen."""
    browser = Browser(demo, screenshots)
    browser.log_in("alice")
    browser.open("/users/bob")
    sessions = len(browser.all("input[value=end-session]"))
    check("the sessions of bob are listed", sessions >= 1, sessions)
    browser.find("form:has(input[value=end-session]) button").click()
    wait(lambda: browser.all("[role=status]"))
    check("ending a session says so", "session has ended" in browser.text())
    check("the session is gone", len(browser.all("input[value=end-session]")) == sessions - 1)
    browser.find("form:has(input[value=revoke-device]) button").click()
    wait(lambda: "device is revoked" in browser.text())
    check("revoking a device says so", "device is revoked" in browser.text())
    records = [record for record in demo.records() if record["kind"] == "operator"]
    for action in ["operator-login", "operator-revoke", "operator-revoke-registration"]:
        own = [record for record in records if record["action"] == action]
        check(f"{action} is recorded with the operator's name", own and own[-1].get("by") == "alice")
    check("the journal is complete and unchanged", demo.verify())
    browser.close()


def explain_and_verify(demo, screenshots):
    browser = Browser(demo, screenshots)
    browser.log_in("bob")
    browser.open("/policy")
    browser.find("#x-user").send_keys("alice")
    browser.find("#x-call").send_keys("bob")
    browser.find("#x-body").send_keys('"hi"')
    browser.find("#explain button").click()
    wait(lambda: browser.all("dl.members"))
    check("a call is explained", "send[0]" in browser.text())
    browser.screenshot("policy-explained")
    browser.open("/journal")
    browser.find("#verification button").click()
    verified = wait(lambda: "complete and unchanged" in browser.text(), 20)
    check("the journal is verified", verified)
    browser.screenshot("journal-verified")
    check("a viewer has no buttons for changes", not browser.all("input[name=change]"))
    browser.open("/users/alice")
    check("a viewer has no buttons for changes of users", not browser.all("input[name=change]"))
    check("no message in the browser's console (viewer)", not browser.read_log(), "; ".join(browser.messages[:3]))
    browser.close()


def keyboard(demo, screenshots):
    """Everything can be reached and used with the keyboard alone."""
    browser = Browser(demo, screenshots)
    browser.open("/login")
    active = lambda: browser.driver.switch_to.active_element
    active().send_keys("alice")
    active().send_keys(Keys.TAB)
    active().send_keys("alice")
    active().send_keys(Keys.ENTER)
    wait(lambda: browser.all("nav"))
    check("login with the keyboard", browser.path() == "/", browser.path())
    active().send_keys(Keys.TAB)
    check("the first stop skips to the content", active().get_attribute("class") == "skip")
    found = False
    for _ in range(12):
        active().send_keys(Keys.TAB)
        if active().get_attribute("href") == browser.demo.address + "/calls":
            found = True
            break
    check("the navigation is reachable", found)
    outline = active().value_of_css_property("outline-style")
    check("the focus is visible", outline != "none", outline)
    active().send_keys(Keys.ENTER)
    wait(lambda: browser.path() == "/calls")
    check("a link opens with the keyboard", browser.path() == "/calls")
    browser.close()


def without_script(demo, screenshots):
    """Pages work without scripts."""
    browser = Browser(demo, screenshots)
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.log_in("alice")
    for path in PAGES:
        browser.open(path)
        check(f"{path} works without script", browser.all("h1") and browser.all("nav"))
    browser.close()


def sessions(demo, screenshots):
    browser = Browser(demo, screenshots)
    browser.log_in("alice", "wrong")
    check("a wrong password is rejected", "wrong" in browser.text() and not browser.all("nav"))
    browser.log_in("alice")
    browser.open("/users/bob?done=%3Cscript%3E")
    check("text of the URL is not shown", "script" not in browser.text())
    browser.find(".account button").click()
    wait(lambda: browser.path().startswith("/login"))
    check("logout leads to the login", browser.path().startswith("/login"))
    browser.driver.back()
    wait(lambda: browser.path().startswith("/login"))
    check("going back after a logout shows no page", not browser.all("nav"), browser.path())
    browser.close()


def pictures_of_manuals(program, directory):
    """Writes the pictures of the README: a gateway with several users, at a width that needs no reduction."""
    demo = Demo(program)
    try:
        names = ["carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"]
        demo.add_users(names)
        names = ["alice", "bob"] + names
        # Few write to many, and everybody to some; the numbers are the same in every run.
        for index, sender in enumerate(names):
            for other, recipient in enumerate(names):
                for _ in range((index * 7 + other * 3) % 5 if index % 3 else (other * 5) % 9):
                    demo.send(sender, recipient)
        browser = Browser(demo, directory, width=1200, height=800)
        browser.log_in("alice")
        for path, name in [("/", "console-overview"), ("/pairs", "console-pairs")]:
            browser.open(path)
            browser.screenshot(name, 800)
        browser.close()
    finally:
        demo.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=os.path.abspath, help="the built notify-gateway")
    parser.add_argument("--screenshots", help="the directory for screenshots; default: a temporary one")
    parser.add_argument("--only", help="the name of one part")
    parser.add_argument("--manuals", help="write the pictures of the README to this directory and check nothing")
    options = parser.parse_args()
    if not os.path.exists("/usr/bin/chromium") or not os.path.exists("/usr/bin/chromedriver"):
        print("skipped: the Debian packages chromium and chromium-driver are not installed")
        return 0
    if options.manuals:
        pictures_of_manuals(options.program, options.manuals)
        return 0
    screenshots = options.screenshots or tempfile.mkdtemp(prefix="notify-gateway-console-")
    os.makedirs(screenshots, exist_ok=True)
    demo = Demo(options.program)
    try:
        fill(demo)
        for part in [pages, live, rows, outages, pictures, changes, explain_and_verify, keyboard, without_script, sessions]:
            if options.only in (None, part.__name__):
                part(demo, screenshots)
    finally:
        demo.close()
    print(f"{driver.checks} checks, {len(driver.failures)} failed; screenshots in {screenshots}")
    return 1 if driver.failures else 0


if __name__ == "__main__":
    sys.exit(main())
