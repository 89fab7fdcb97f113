"""The parts of the comparison, two at a time, and the comparison with the files of `masters/`."""

import concurrent.futures
import difflib
import multiprocessing
import pathlib
import sys
import time
import traceback

import audit
import commands
import pages
import wire
import worlds

MASTERS = worlds.LIB.parent / "masters"
# The lines that a difference shows of each master.
SHOWN = 40
# The longest first.
PARTS = {
    "audit-files": audit.files,
    "audit-store": audit.store,
    "pages-files": pages.files,
    "pages-store": pages.store,
    "pages-hub": pages.hub,
    "wire-embedded": wire.embedded,
    "wire-recorded": wire.recorded,
    "logs": wire.logs,
    "commands-check": commands.checks,
    "commands-stopped": commands.stopped,
    "commands-running": commands.running,
    "commands-help": commands.helps,
    "commands-demonstrations": commands.demonstrations,
}


def perform(name, program, library, parent):
    """Makes the documents of one part, in a process of its own."""
    worlds.use(library)
    worlds.set_clock(worlds.READ)
    directory = pathlib.Path(parent) / name
    directory.mkdir(mode=0o755)
    began = time.monotonic()
    try:
        return PARTS[name](str(program), directory), "", time.monotonic() - began
    except BaseException:
        return {}, traceback.format_exc(), time.monotonic() - began
    finally:
        for world in list(worlds.World.running):
            world.kill()


def answers(options):
    """Returns the documents of all parts, and the errors."""
    names = [name for name in PARTS if options.only in name]
    found, errors = {}, []
    parent = worlds.temporary()
    try:
        library = worlds.build(parent)
        library.chmod(0o755)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
            tasks = {name: pool.submit(perform, name, options.program, library, parent) for name in names}
            for name, task in tasks.items():
                documents, error, seconds = task.result()
                found |= documents
                errors += [f"{name} failed:\n{error}"] if error else []
                print(f"{name}: {len(documents)} documents in {seconds:.1f} s", file=sys.stderr, flush=True)
    finally:
        worlds.remove(parent)
    return found, errors


def differences(found, complete):
    """Returns the masters that differ, each with a text that shows how."""
    different = {}
    recorded = {str(path.relative_to(MASTERS)): path.read_bytes().decode() for path in sorted(MASTERS.rglob("*.txt"))}
    for name in sorted(found.keys() | (recorded.keys() if complete else set())):
        old, new = recorded.get(name), found.get(name)
        if old == new:
            continue
        if old is None or new is None:
            different[name] = "has no master" if old is None else "has a master and no answer"
            continue
        lines = list(difflib.unified_diff(old.split("\n"), new.split("\n"), "recorded", "answered", n=1, lineterm=""))
        more = [f"… and {len(lines) - SHOWN} further lines"] if len(lines) > SHOWN else []
        different[name] = "\n".join([line[:400] for line in lines[:SHOWN]] + more)
    return different


def run(options):
    began = time.monotonic()
    found, errors = answers(options)
    for error in errors:
        print(error)
    if errors:
        return 1
    if options.record:
        record(found, complete=not options.only)
    elif different := differences(found, complete=not options.only):
        for name, text in different.items():
            print(f"{name} differs:\n{text}\n")
        print(f"{len(different)} of {len(found)} masters differ")
        return 1
    if options.self_test and not self_test(found):
        return 1
    size = sum(len(text.encode()) for text in found.values())
    print(f"golden masters: {len(found)}, {size >> 10} KiB, {'recorded' if options.record else 'equal'}, "
          f"in {time.monotonic() - began:.0f} s")
    return 0


def record(found, complete):
    if complete:
        for path in MASTERS.rglob("*.txt"):
            path.unlink()
    for name, text in found.items():
        path = MASTERS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def self_test(found):
    """Changes one character of each master in turn, at several places, and returns whether each change is found."""
    missed = []
    for name, text in found.items():
        for place in {len(text) * part // 8 for part in range(8)}:
            changed = text[:place] + ("#" if text[place] != "#" else "%") + text[place + 1:]
            if list(differences({name: changed}, complete=False)) != [name]:
                missed.append(f"{name} at {place}")
    print(f"self-test: {'missed ' + ', '.join(missed) if missed else 'each changed character was found'}")
    return not missed
