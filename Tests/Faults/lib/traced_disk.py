"""Computes possible states of a disk after a power failure from a trace of a gateway's system calls.

strace writes the trace. A `TracedDisk` replays it up to any moment. For each file it knows the durable bytes (fsync, fdatasync,
O_DSYNC, and fsync of the directory for names) and the bytes that were only written. `crash` then selects at random which of the
latter reached the disk: whole writes, single pages, single sectors, or zeroes where the file grew without its data, in any order.
"""

import dataclasses
import os
import pathlib
import re

PAGE, SECTOR = 4096, 512
CALLS = (
    "openat,open,creat,close,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,rename,renameat,"
    "renameat2,unlink,unlinkat,link,linkat,mkdir,mkdirat,dup,dup2,dup3,sendmsg,sendto,io_uring_setup"
)
SILENT = ("openat", "open", "close", "dup", "dup2", "dup3")
LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>)?(.*)$")
CALL = re.compile(r"^(\w+)\((.*)$")
RESULT = re.compile(r"^(.*)\) += (-?\d+|\?|0x[0-9a-f]+)(?:<.*>)?(?: .*)?$")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


def strace(output):
    """Returns the command that runs a gateway and writes its trace to the file `output`."""
    return ["strace", "-f", "-yy", "-xx", "-s", "4194304", "--seccomp-bpf", "-e", "signal=none", "-e", f"trace={CALLS}", "-o", str(output)]


@dataclasses.dataclass
class Call:
    """One system call: its name, its arguments as strace prints them, and its result."""

    name: str
    text: str
    result: int = -1
    ended: bool = False

    def strings(self):
        found = STRING.findall(self.text)
        if any(cut for _, cut in found):
            raise SystemExit(f"strace truncated a string: {self.name}({self.text[:200]}")
        return [bytes.fromhex(text.replace("\\x", "")) for text, _ in found]

    def numbers(self):
        """Returns the numeric arguments after the last string."""
        rest = self.text[self.text.rfind('"') + 1 :]
        return [int(number) for number in re.findall(r"(?<=, )(\d+)(?=,|$)", rest)]

    def descriptor(self):
        return int(re.match(r"-?\d+", self.text)[0])


def moments(trace):
    """Yields the beginning and the end of each system call in order: ("begin" | "end", call)."""
    pending = {}
    with open(trace, encoding="latin-1") as lines:
        for line in lines:
            thread, resumed, rest = LINE.match(line.rstrip("\n")).groups()
            if resumed:
                call = pending.pop(thread, None)
                result = RESULT.match(rest)
                if call and result:
                    call.text += result[1]
                    call.result, call.ended = number(result[2]), True
                    yield "end", call
                continue
            started = CALL.match(rest)
            if not started:
                continue
            name, text = started.groups()
            if text.endswith("<unfinished ...>"):
                call = Call(name, text.removesuffix("<unfinished ...>").rstrip())
                pending[thread] = call
                yield "begin", call
            elif result := RESULT.match(text):
                call = Call(name, result[1], number(result[2]), True)
                yield "begin", call
                yield "end", call


def number(text):
    return -1 if text == "?" else int(text, 0)


@dataclasses.dataclass
class Write:
    """A write that is not known to be durable. With `data` None it sets the file's length to `offset`."""

    offset: int
    data: bytes | None
    done: bool = False


class Inode:
    """A file: its durable bytes, and the later writes."""

    def __init__(self, durable=b""):
        self.durable = bytearray(durable)
        self.pending = []
        self.length = len(durable)

    def apply(self, write, target=None):
        target = self.durable if target is None else target
        if write.data is None:
            del target[write.offset :]
            target.extend(bytes(write.offset - len(target)))
        else:
            target.extend(bytes(max(0, write.offset - len(target))))
            target[write.offset : write.offset + len(write.data)] = write.data

    def make_durable(self, writes):
        for write in writes:
            self.apply(write)
        self.pending = [write for write in self.pending if not any(write is other for other in writes)]

    def crash(self, chance):
        """Returns possible contents of the file after a power failure at this moment."""
        content = bytearray(self.durable)
        how = chance.random()
        for write in self.pending:
            if how < 0.1 or (how >= 0.2 and chance.random() < 0.3):
                continue
            if how < 0.2 or write.data is None or chance.random() < 0.4:
                self.apply(write, content)
                continue
            self.apply_parts(write, content, chance)
        return bytes(content)

    def apply_parts(self, write, content, chance):
        """Applies some pages or sectors of a write. Omitted parts are zero where the write extended the file."""
        size = chance.choice((PAGE, SECTOR))
        end = write.offset + len(write.data)
        if end > len(content) and chance.random() < 0.7:
            content.extend(bytes(end - len(content)))
        at = write.offset
        while at < end:
            upto = min(end, (at // size + 1) * size)
            if chance.random() < 0.5 and at <= len(content):
                content[at:upto] = write.data[at - write.offset : upto - write.offset]
            at = upto


class TracedDisk:
    """The directory `root` at each moment of a gateway's trace."""

    def __init__(self, root):
        self.root = str(root)
        self.names = {}
        self.durable_names = {}
        self.directories = set()
        self.pending_names = []
        self.descriptors = {}
        for folder, _, files in os.walk(root):
            self.directories.add(folder)
            for name in files:
                path = os.path.join(folder, name)
                self.names[path] = self.durable_names[path] = Inode(pathlib.Path(path).read_bytes())

    def begin_run(self):
        """Begins the trace of a new process, which has no open files."""
        self.descriptors = {}

    # MARK: System calls

    def apply(self, when, call):
        if call.name == "io_uring_setup":
            raise SystemExit("the gateway uses io_uring, which strace cannot trace")
        act = getattr(self, f"{when}_{call.name}", None)
        if act:
            act(call)

    def path(self, call, index=0):
        """Returns the `index`th path of a call's arguments as an absolute path."""
        text = call.strings()[index].decode()
        if text.startswith("/"):
            return os.path.normpath(text)
        base = re.findall(r"AT_FDCWD<([^>]*)>", call.text)
        return os.path.normpath(os.path.join(bytes.fromhex(base[0].replace("\\x", "")).decode() if base else os.getcwd(), text))

    def inside(self, path):
        return path.startswith(self.root + "/") and not path.endswith("-shm")

    def end_openat(self, call):
        path = self.path(call)
        if call.result < 0 or not self.inside(path) and path != self.root:
            return
        flags = call.text[call.text.rfind('"') + 1 :]
        if path in self.directories or path == self.root:
            self.descriptors[call.result] = ("directory", path, False)
            return
        if path not in self.names:
            if "O_CREAT" not in flags:
                return
            inode = Inode()
            self.change_names([(path, inode)])
        if "O_TRUNC" in flags:
            self.names[path].pending.append(Write(0, None, True))
        self.descriptors[call.result] = (self.names[path], path, "O_DSYNC" in flags or "O_SYNC" in flags)

    end_open = end_openat

    def begin_close(self, call):
        self.descriptors.pop(call.descriptor(), None)

    def end_dup(self, call):
        if call.descriptor() in self.descriptors and call.result >= 0:
            self.descriptors[call.result] = self.descriptors[call.descriptor()]

    end_dup2 = end_dup3 = end_dup

    def begin_pwrite64(self, call, offset=None):
        opened = self.descriptors.get(call.descriptor())
        if not opened or opened[0] == "directory":
            return
        inode = opened[0]
        data = b"".join(call.strings())
        if offset is None:
            offset = call.numbers()[-1]
        call.write = Write(offset, data)
        inode.pending.append(call.write)

    begin_pwritev = begin_pwritev2 = begin_pwrite64

    def begin_write(self, call):
        opened = self.descriptors.get(call.descriptor())
        if not opened or opened[0] == "directory":
            return
        # The gateway writes without an offset only to new files, such as temporary key files.
        self.begin_pwrite64(call, offset=self.end_of(opened[0]))

    begin_writev = begin_write

    def end_of(self, inode):
        content = bytearray(inode.durable)
        for write in inode.pending:
            inode.apply(write, content)
        return len(content)

    def end_pwrite64(self, call):
        write = getattr(call, "write", None)
        if write is None:
            return
        inode, _, durable = self.descriptors.get(call.descriptor(), (None, None, False))
        write.data = write.data[: max(0, call.result)]
        write.done = True
        if durable and inode is not None:
            inode.make_durable([other for other in inode.pending if other.done])

    end_write = end_writev = end_pwritev = end_pwritev2 = end_pwrite64

    def end_ftruncate(self, call):
        opened = self.descriptors.get(call.descriptor())
        if opened and call.result == 0:
            opened[0].pending.append(Write(int(call.text.rsplit(", ", 1)[1]), None, True))

    def begin_fsync(self, call):
        opened = self.descriptors.get(call.descriptor())
        if not opened:
            return
        if opened[0] == "directory":
            call.covers = [change for change in self.pending_names if any(os.path.dirname(p) == opened[1] for p, _ in change)]
        else:
            call.covers = [write for write in opened[0].pending if write.done]
        call.opened = opened

    def end_fsync(self, call):
        opened = getattr(call, "opened", None)
        if not opened or call.result != 0:
            return
        if opened[0] == "directory":
            for change in call.covers:
                self.make_names_durable(change)
        else:
            opened[0].make_durable(call.covers)

    begin_fdatasync, end_fdatasync = begin_fsync, end_fsync

    def end_rename(self, call):
        old, new = self.path(call, 0), self.path(call, 1)
        if call.result == 0 and old in self.names:
            self.change_names([(old, None), (new, self.names[old])])

    end_renameat = end_renameat2 = end_rename

    def end_link(self, call):
        old, new = self.path(call, 0), self.path(call, 1)
        if call.result == 0 and old in self.names:
            self.change_names([(new, self.names[old])])

    end_linkat = end_link

    def end_unlink(self, call):
        path = self.path(call)
        if call.result == 0 and path in self.names:
            self.change_names([(path, None)])

    end_unlinkat = end_unlink

    def end_mkdir(self, call):
        path = self.path(call)
        if call.result == 0 and self.inside(path):
            self.directories.add(path)

    end_mkdirat = end_mkdir

    # MARK: Names

    def change_names(self, change):
        """Records an atomic change of names."""
        self.bind(self.names, change)
        self.pending_names.append(change)

    def make_names_durable(self, change):
        """Makes the change durable, and all earlier changes of the same names."""
        order = [id(other) for other in self.pending_names]
        if id(change) not in order:
            return
        upto = order.index(id(change))
        touched = {path for path, _ in change}
        durable = [
            other for other in self.pending_names[: upto + 1] if other is change or touched & {path for path, _ in other}]
        for other in durable:
            self.bind(self.durable_names, other)
        self.pending_names = [other for other in self.pending_names if not any(other is gone for gone in durable)]

    @staticmethod
    def bind(names, change):
        for path, inode in change:
            if inode is None:
                names.pop(path, None)
            else:
                names[path] = inode

    # MARK: Power failure

    def crash(self, chance, target):
        """Writes to the directory `target` a possible content of `root` after a power failure at this moment."""
        names = dict(self.durable_names)
        # A file system may keep the order of all changes of names, or only the order of changes of one file.
        upto = chance.randint(0, len(self.pending_names))
        in_order = chance.random() < 0.7
        for index, change in enumerate(self.pending_names):
            if index < upto if in_order else chance.random() < 0.5:
                # A rename needs its old name; a new file has no such condition.
                if all(path in names for path, inode in change if inode is None):
                    self.bind(names, change)
        for folder in self.directories:
            (target / os.path.relpath(folder, self.root)).mkdir(parents=True, exist_ok=True, mode=0o700)
        crashed = {}
        for path, inode in names.items():
            if id(inode) not in crashed:
                crashed[id(inode)] = inode.crash(chance)
            file = target / os.path.relpath(path, self.root)
            file.write_bytes(crashed[id(inode)])
            file.chmod(0o600)

