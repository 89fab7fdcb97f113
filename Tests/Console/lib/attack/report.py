"""The results of the checks: one line each, with figures."""

import contextlib
import sys
import threading
import time
import traceback

failed = []
skipped = []
_lock = threading.Lock()
_begin = time.monotonic()


def _line(word, name, figures):
    with _lock:
        print(f"{time.monotonic() - _begin:6.1f} s  {word:4}  {name}: {figures}", flush=True)


def check(name, problems, figures):
    """Prints the line of a check. It has failed if there are problems, of which the first five are printed."""
    _line("FAIL" if problems else "ok", name, figures)
    if problems:
        failed.append(name)
        with _lock:
            for problem in problems[:5]:
                print(f"           - {problem}", flush=True)
            if len(problems) > 5:
                print(f"           - and {len(problems) - 5} more", flush=True)


def skip(name, reason):
    """Prints that a check cannot be made here. It counts as passed."""
    skipped.append(name)
    _line("skip", name, reason)


@contextlib.contextmanager
def group(name):
    """Runs a group of checks. An error in one group fails it and does not prevent the others."""
    begin = time.monotonic()
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        check(name, [f"{type(error).__name__}: {error}"], "the checks ended early")
    finally:
        print(f"          {name}: {time.monotonic() - begin:.1f} s in all", flush=True)


def finish():
    """Prints the summary and exits with 1 if a check has failed."""
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    print(f"{len(failed)} failed, {len(skipped)} skipped", flush=True)
    sys.exit(1 if failed else 0)
