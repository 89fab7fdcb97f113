"""A browser that the checks drive, Debian's Chromium without a window, and the list of checks."""

import base64
import os

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service

from demo import wait

failures = []
checks = 0


def check(name, is_true, detail=""):
    global checks
    checks += 1
    if not is_true:
        failures.append(name)
    print(f"{'ok  ' if is_true else 'FAIL'} {name}{f': {detail}' if detail != '' else ''}", flush=True)


class Browser:
    """A browser with a log of its console."""

    def __init__(self, demo, screenshots, width=1200, height=900, dark=False):
        options = webdriver.ChromeOptions()
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         f"--window-size={width},{height}", "--hide-scrollbars", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = "/usr/bin/chromium"
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_page_load_timeout(30)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        if width < 600:
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": True})
        self.demo = demo
        self.screenshots = screenshots
        self.messages = []

    def close(self):
        self.read_log()
        self.driver.quit()

    def read_log(self):
        """Collects what the browser has logged: errors of scripts, blocked content, failed requests."""
        self.messages += [entry["message"] for entry in self.driver.get_log("browser")]
        return self.messages

    def open(self, path):
        self.driver.get(self.demo.address + path)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self):
        # In one step, because a page may be replaced between two.
        return self.driver.execute_script("return document.body ? document.body.innerText : ''")

    def path(self):
        return self.driver.current_url[len(self.demo.address):]

    def screenshot(self, name, most=2400):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        width = self.driver.execute_script("return document.documentElement.clientWidth")
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "format": "png", "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": min(height, most), "scale": 1}})
        with open(os.path.join(self.screenshots, f"{name}.png"), "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def log_in(self, user, password=None):
        self.open("/login")
        self.find("#user").send_keys(user)
        self.find("#password").send_keys(password or user)
        self.find("#password").send_keys(Keys.ENTER)
        wait(lambda: self.all("nav") or self.all("[role=alert]"))
