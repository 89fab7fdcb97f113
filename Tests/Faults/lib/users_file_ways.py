"""The ways in which programs bring a users file to its next content.

The shortest pause that the gateway may mistake for the end of a write depends on how many users are missing meanwhile
(docs/reloading.md): half a second for one, a quarter of a second for each of several, four seconds at most; a reload counts like a
quarter of a second. All pauses here are shorter.
"""

import asyncio
import os
import pathlib
import random
import shutil
import signal

# The ways of which the quick form of the test has time for; each is another kind.
QUICK = [
    "renamed over", "truncated, 1 s, written", "line by line, 20 ms, SIGHUP in the middle", "symbolic link swapped",
    "in place with the old size and time", "each prefix renamed over",
]

# The ways of which no user leaves the file: appending removes nobody, and the others are about how many are missing in the middle.
WITHOUT_END = [
    "appended", "appended in parts", "five missing, three times SIGHUP, the rest", "one missing, 0.4 s, the rest, five times",
    "one missing, 0.1 s, the rest",
]


class Change:
    """A change of the users file of a gateway from some lines to others, each with its line end."""

    def __init__(self, gateway, before, after):
        self.gateway, self.file, self.before, self.after = gateway, gateway.users, before, after
        self.chance = random.Random(len(after))
        self.problems = []

    @property
    def text(self):
        return b"".join(self.after)

    def path(self, name="next"):
        return self.file.parent / name

    def write(self, content, name="next"):
        """Writes another file with the mode of the users file."""
        path = self.path(name)
        # It may be the users file by another name.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
        return path

    def rename(self, content):
        os.replace(self.write(content), self.file)

    async def put(self, parts, pause, mode="wb", at_middle=None):
        """Writes the parts into the file with a pause after each one."""
        with open(self.file, mode, buffering=0) as file:
            for number, part in enumerate(parts):
                file.write(part)
                if at_middle and number == len(parts) // 2:
                    at_middle()
                if pause:
                    await asyncio.sleep(pause)

    def blocks(self, size):
        return [self.text[start : start + size] for start in range(0, len(self.text), size)]

    def hang_up(self):
        self.gateway.process.send_signal(signal.SIGHUP)

    async def tool(self, command, *more, content=None):
        """Runs a shell command in the directory of the file, whose name is `$0`; `next` has the next content."""
        self.write(self.text)
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, self.file.name, *more, cwd=self.file.parent, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        _, errors = await process.communicate(content)
        if process.returncode:
            self.problems.append(f"{command}: status {process.returncode}: {errors.decode().strip()[:300]}")


def ways(lines_only=False):
    """Returns the ways by name; with `lines_only` those of a file without a header."""
    found = {
        "renamed over": renamed, "renamed over with the old time": renamed_with_time, "moved with mv": by("mv next $0"),
        "installed": by("install -m 600 next $0"), "copied after its removal": by("cp --remove-destination -p next $0"),
        "hard link renamed over": by("ln next other && mv other $0"), "symbolic link swapped": linked,
        "symbolic link of the directory swapped": linked_directory, "deleted, 1 s, written": deleted,
        "empty file renamed over, 1 s": renamed_after(lambda change: b""),
        "first line renamed over, 3 s": renamed_after(lambda change: change.after[0], 3),
        "half renamed over, 0.1 s": renamed_after(half, 0.1), "half renamed over, 3 s": renamed_after(half, 3),
        "six missing renamed over, 1 s": renamed_after(lambda change: b"".join(change.after[:-6]), 1),
        "broken file renamed over, 1 s": renamed_after(lambda change: change.text[:-9]),
        "each prefix renamed over": prefixes, "each prefix, SIGHUP in the middle": prefixes_with_hang_up,
        "each prefix, the longest first": prefixes_from_longest,
        "truncated, written": truncated(0), "truncated, 0.3 s, written": truncated(0.3),
        "truncated, 1 s, written": truncated(1), "truncated, 3 s, written": truncated(3),
        "truncated, SIGHUP, 1 s, written": truncated(1, hang_ups=1),
        "truncated, three times SIGHUP, 1 s, written": truncated(1, hang_ups=3),
        "half, 3 s, the rest": in_two(0.5, 3), "half, reload, 1 s, the rest": in_two(0.5, 1, is_reloaded=True),
        "half, SIGHUP, 3 s, the rest": in_two(0.5, 3, hang_ups=1), "nine tenths, 0.9 s, the rest": in_two(0.9, 0.9),
        "five missing, three times SIGHUP, the rest": in_two(-5, 0.1, hang_ups=3, between=0.05),
        "one missing, 0.1 s, the rest": in_two(-1, 0.1), "one missing, 0.4 s, the rest, five times": repeated(in_two(-1, 0.4), 5),
        "line by line": in_lines(0), "line by line, 5 ms": in_lines(0.005), "line by line, 20 ms": in_lines(0.02),
        "line by line, 100 ms": in_lines(0.1),
        "line by line, 20 ms, SIGHUP in the middle": in_lines(0.02, lambda change: change.hang_up),
        "blocks of 7 bytes": in_blocks(7, 0), "blocks of 100 bytes, 20 ms": in_blocks(100, 0.02),
        "blocks of 512 bytes, 300 ms": in_blocks(512, 0.3),
        "in place with the old size and time": with_time, "over the old content, 20 ms": over_old,
        "zeroes first, then blocks in any order": zeroes_first, "two writers": two_writers,
        "readable by others until it is complete": readable, "written twice": twice, "appended": appended,
        "appended in parts": appended_in_parts,
        "cp": by("cp next $0"), "cp with the old time": by("touch -r $0 next && cp -p next $0"), "tee": by("tee $0 <next"),
        "cat in a shell": by("cat next >$0"), "dd of single bytes": by("dd if=next of=$0 bs=1"),
        "dd over the old content": by("dd if=next of=$0 bs=64 conv=notrunc && truncate -s \"$(stat -c %s next)\" $0"),
        "a loop in a shell": by('> $0; while IFS= read -r line; do printf "%s\\n" "$line" >>$0; sleep 0.01; done <next'),
        "sed for each line": sed,
    }
    if lines_only and shutil.which("htpasswd"):
        found["htpasswd in a loop"] = htpasswd
    if not lines_only:
        found["commands of the gateway"] = commands
    return found


def half(change):
    return b"".join(change.after[: len(change.after) // 2])


def by(command):
    """A way that is a shell command."""
    return lambda change: change.tool(command)


async def renamed(change):
    change.rename(change.text)


async def renamed_with_time(change):
    former, path = change.file.stat(), change.write(change.text)
    os.utime(path, ns=(former.st_atime_ns, former.st_mtime_ns))
    os.replace(path, change.file)


def renamed_after(content, pause=1):
    """A way that renames something else over the file first. `content` returns it."""
    async def run(change):
        change.rename(content(change))
        await asyncio.sleep(pause)
        change.rename(change.text)
    return run


async def linked(change):
    for name, content in (("old", b"".join(change.before)), ("new", change.text)):
        target = change.write(content, f"{name}{change.file.suffix}")
        link = change.path("link")
        link.symlink_to(target.name)
        os.replace(link, change.file)
        await asyncio.sleep(0.4)


async def linked_directory(change):
    """Swaps the link of a directory, as a volume of Kubernetes does."""
    for name, content in (("old", b"".join(change.before)), ("new", change.text)):
        directory = change.path(f"{name}-{change.chance.random()}")
        directory.mkdir()
        change.write(content, f"{directory.name}/{change.file.name}")
        link = change.path("link")
        link.symlink_to(directory.name)
        os.replace(link, change.path("data"))
        link.symlink_to(pathlib.Path("data") / change.file.name)
        os.replace(link, change.file)
        await asyncio.sleep(0.4)


async def deleted(change):
    change.file.unlink()
    await asyncio.sleep(1)
    change.write(change.text, change.file.name)


async def prefixes(change, at_middle=None):
    for number in range(1, len(change.after) + 1):
        change.rename(b"".join(change.after[:number]))
        if at_middle and number == len(change.after) // 2:
            at_middle()
        await asyncio.sleep(0.03)


async def prefixes_with_hang_up(change):
    await prefixes(change, change.hang_up)


async def prefixes_from_longest(change):
    for number in range(len(change.after), 0, -1):
        change.rename(b"".join(change.after[:number]))
        await asyncio.sleep(0.03)
    change.rename(change.text)


def truncated(pause, hang_ups=0):
    async def run(change):
        with open(change.file, "wb", buffering=0) as file:
            for _ in range(hang_ups):
                await asyncio.sleep(0.1)
                change.hang_up()
            await asyncio.sleep(pause)
            file.write(change.text)
    return run


def in_two(part, pause, hang_ups=0, between=0.1, is_reloaded=False):
    """A way that writes the beginning of the file, and the rest after a pause.

    `part` is the ratio of the beginning; if negative, the number of lines of the rest.
    """
    async def run(change):
        number = int(len(change.after) * part if part > 0 else len(change.after) + part)
        with open(change.file, "wb", buffering=0) as file:
            file.write(b"".join(change.after[:number]))
            for _ in range(hang_ups):
                await asyncio.sleep(between)
                change.hang_up()
            if is_reloaded:
                done = await asyncio.to_thread(change.gateway.command, "reload")
                if done.returncode != 0 or "counts when it stays" not in done.stdout + done.stderr:
                    change.problems.append(f"reload in the middle of a write: {done.returncode}: {done.stdout}{done.stderr}")
            await asyncio.sleep(pause)
            file.write(b"".join(change.after[number:]))
    return run


def repeated(way, times):
    """A way that is taken several times, each at another moment between two looks of the gateway."""
    async def run(change):
        for number in range(times):
            await way(change)
            await asyncio.sleep(0.3 + 0.05 * number)
    return run


def in_lines(pause, at_middle=None):
    return lambda change: change.put(change.after, pause, at_middle=at_middle and at_middle(change))


def in_blocks(size, pause):
    return lambda change: change.put(change.blocks(size), pause)


async def with_time(change):
    former = change.file.stat()
    await change.put(change.blocks(1024), 0.05)
    os.utime(change.file, ns=(former.st_atime_ns, former.st_mtime_ns))


async def over_old(change):
    await change.put(change.after, 0.02, mode="r+b")
    os.truncate(change.file, len(change.text))


async def zeroes_first(change):
    blocks = list(enumerate(change.blocks(256)))
    change.chance.shuffle(blocks)
    with open(change.file, "wb", buffering=0) as file:
        file.truncate(len(change.text))
        for number, block in blocks:
            file.seek(number * 256)
            file.write(block)
            await asyncio.sleep(0.02)


async def two_writers(change):
    await asyncio.gather(change.put(change.after, 0.02), change.put(change.after, 0.03))


async def readable(change):
    change.file.unlink()
    with open(change.file, "wb", buffering=0) as file:
        change.file.chmod(0o644)
        for line in change.after:
            file.write(line)
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
    change.file.chmod(0o600)


async def twice(change):
    await change.put(change.after, 0.01)
    await change.put(change.after, 0.02)


async def appended(change):
    await change.put([line for line in change.after if line not in change.before], 0, mode="ab")


async def appended_in_parts(change):
    text = b"".join(line for line in change.after if line not in change.before)
    await change.put([text[start : start + 30] for start in range(0, len(text), 30)], 0.3, mode="ab")


def names(lines):
    return {line.strip().split(b":")[0].decode() for line in lines}


async def sed(change):
    for name in sorted(names(change.before) - names(change.after)):
        await change.tool(f"sed -i '/^ *{name}:/d' $0")
    for line in change.after:
        if line not in change.before:
            await change.tool("cat >>$0", content=line)


async def htpasswd(change):
    for name in sorted(names(change.before) - names(change.after)):
        await change.tool('htpasswd -D $0 "$1"', name)
    for name in sorted(names(change.after) - names(change.before)):
        await change.tool('htpasswd -i -B -C 4 $0 "$1"', name, content=change.gateway.password)


async def commands(change):
    gateway, file = change.gateway.program, change.gateway.configuration
    for name in sorted(names(change.before) - names(change.after)):
        await change.tool('"$1" users remove "$2" --config "$3"', gateway, name, file)
    for name in sorted(names(change.after) - names(change.before)):
        await change.tool('"$1" users add "$2" --config "$3"', gateway, name, file, content=change.gateway.password)
