"""Attacks the operator console of gateways of its own. See ../README.md."""

import argparse
import importlib
import pathlib
import resource
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "attack"))
import report
from gateway import Gateway

# Groups of checks; each has a gateway of its own. Those of one list run one after the other, and the lists at the same time.
PAGES = [["xss", "headers"], ["csrf", "sessions", "roles", "redirects", "hosts", "shapes"]]
# These measure latencies, so that nothing runs beside them, unless the time is short.
LOADS = [["guessing", "streams"], ["slowness"]]


def run(names, options):
    for name in names:
        if options.only and name not in options.only:
            continue
        with report.group(name):
            module = importlib.import_module(name)
            with Gateway(options.program, **getattr(module, "GATEWAY", {})) as gateway:
                module.run(gateway, options.quick)
                if gateway.process.poll() is not None:
                    report.check(f"{name}: process", ["the gateway ended:\n" + gateway.text()[-2000:]], "ended")


def at_once(lists, options):
    threads = [threading.Thread(target=run, args=(names, options)) for names in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--quick", action="store_true", help="make fewer attempts, in less than 90 s")
    groups = [name for names in PAGES + LOADS for name in names]
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"run only these groups: {', '.join(groups)}")
    options = parser.parse_args()
    if unknown := set(options.only or []) - set(groups):
        parser.error(f"unknown groups: {', '.join(sorted(unknown))}")
    # The crowds of clients need open files.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    if options.quick:
        at_once(PAGES + LOADS, options)
    else:
        at_once(PAGES, options)
        for names in LOADS:
            run(names, options)
    report.finish()


if __name__ == "__main__":
    main()
