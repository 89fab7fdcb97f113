"""Journals on which gateways start, and what their indexes lack."""
import os
import pathlib
import shutil
import subprocess
import sys

# The names of the journal's segments and of their indexes have 20 digits: the number of the segment's first line.
SEGMENT, INDEX = "journal-{}.jsonl", "index-{}.bin"


def segment_numbers(directory):
    """Returns the digits in the names of the segments, oldest first. The last segment is in use."""
    return sorted(path.name[8:28] for path in pathlib.Path(directory).glob(SEGMENT.format("[0-9]" * 20)))


def unindexed_bytes(directory):
    """Returns the bytes of closed segments without an index."""
    directory, total = pathlib.Path(directory), 0
    for digits in segment_numbers(directory)[:-1]:
        if not (directory / INDEX.format(digits)).exists():
            total += (directory / SEGMENT.format(digits)).stat().st_size
    return total


class JournalTemplate:
    """A journal with its index, which each gateway gets as its own."""

    def __init__(self, writer, directory, calls):
        """Writes a journal of that many calls, two lines each, with the program `audit-index`."""
        command = [writer, "--calls", str(calls), "--queries", "1", "--directory", str(directory)]
        self.directory = pathlib.Path(directory) / "journal"
        # The program also measures queries, which can fail. The journal and its index are complete before.
        status = subprocess.run(command, stdout=sys.stderr).returncode
        lines = sum(path.read_bytes().count(b"\n{") + 1 for path in self.directory.glob(SEGMENT.format("*")))
        if lines < 2 * calls or unindexed_bytes(self.directory):
            sys.exit(f"compare: {writer} ended with status {status} and left {lines} lines, or not all of their indexes")

    def copy(self, target):
        """Creates the directory `target`. Closed segments and their indexes are never written to, so the copies are hard links."""
        target.mkdir(mode=0o700)
        closed = segment_numbers(self.directory)[:-1]
        shared = {name.format(digits) for digits in closed for name in (SEGMENT, INDEX)}
        for path in self.directory.iterdir():
            if path.name in shared:
                os.link(path, target / path.name)
            else:
                shutil.copy2(path, target / path.name)
