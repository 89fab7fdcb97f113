"""The answers of the `audit` commands to recorded journals."""

import postgresql_store
import worlds
from documents import Document

FORMATS = [[], ["--json"], ["--csv"], ["--records"], ["--records", "--json"], ["--records", "--csv"]]
FILTERS = [
    ["--from", "alice"], ["--from", "ALICE"], ["--to", "bob"], ["--to", "audience:oncall"],
    ["--user", "carol"], ["--user", "nobody"],
    ["--action", "send", "-n", "4"], ["--action", "register-update"], ["--action", "hand-over"], ["--action", "operator-revoke"],
    ["--action", "nonsense"], ["--result", "accepted", "-n", "4"], ["--result", "rate-limited"], ["--result", "login-failed"],
    ["--result", "backend-failed"], ["--result", "would-refuse"], ["--result", "would-limit"], ["--result", "unknown-after-crash"],
    ["--result", "lines-missing"], ["--result", "nonsense"], ["--rule", "send[0]"], ["--rule", "send[3]"], ["--rule", "unsound"],
    ["--peer", "127.0.0.1", "-n", "4"], ["--peer", "192.0.2.1"], ["--peer", "control"], ["--limit", "pair"], ["--limit", "inbox"],
    ["--limit", "3"], ["--rows", "4"], ["-n", "0"], ["--since", "2026-11-02T10:00:02Z", "-n", "4"],
    ["--since", "2026-11-02", "-n", "4"],
    ["--since", "2026-11-03"], ["--since", "1h", "-n", "4"], ["--since", "9min", "-n", "4"], ["--since", "yesterday"],
    ["--until", "2026-11-02T10:00:01Z"], ["--until", "9m", "-n", "4"],
    ["--since", "2026-11-02T10:00:01.2Z", "--until", "2026-11-02T10:00:01.5Z"],
    ["--since", "2026-11-03", "--until", "2026-11-02"], ["--from", "alice", "--to", "bob", "--result", "accepted"],
]
WHO = [
    ["bob"], ["bob", "--json"], ["carol", "--since", "1d"], ["alice", "--since", "2026-11-02T10:00:03Z"], ["nobody"], ["BOB"],
    ["bob", "--since", "2026-11-03"], ["not a name"],
]


def questions(document, world, more=(), verify=True, short=False):
    """Adds the answers to all questions. `more` are options of each; a short list leaves most of the filters out."""
    for options in FORMATS:
        document.run(world, "audit", "list", *options, *more)
    for options in FILTERS[::4] if short else FILTERS:
        document.run(world, "audit", "list", *options, *more)
    document.run(world, "audit", "list", "--records", "--json", "--action", "send", "--result", "accepted", *more)
    document.run(world, "audit", "list", "--csv", "--from", "alice", *more)
    for options in WHO:
        document.run(world, "audit", "who-notified", *options, *more)
    calls = interesting(world)
    for call in calls:
        document.run(world, "audit", "show", call, *more)
        document.run(world, "audit", "show", call, "--json", *more)
        document.run(world, "audit", "list", "--call", call, *more)
    document.run(world, "audit", "show", "0" * 32, *more)
    document.run(world, "audit", "show", "nonsense", *more)
    for options in ([], ["-n", "3"], ["--lines", "1000"], ["--lines", "0"]):
        document.run(world, "audit", "tail", *options, *more)
    for options in (["--json"], ["--csv"], [], ["--json", "--from", "alice"], ["--csv", "--result", "accepted", "--rows", "2"]):
        document.run(world, "audit", "export", *options, *more)


def interesting(world):
    """Returns one call for each combination of action and last result."""
    calls = {}
    for record in world.journal():
        if "call" in record:
            calls.setdefault(record["call"], []).append(record)
    found = {}
    for call, records in calls.items():
        found.setdefault((records[0].get("action"), records[-1].get("result"), len(records) > 2), call)
    return list(found.values())


def verify(document, world, other_key):
    """Adds what `audit verify` says about the journal, and about a changed, a cut and an incomplete one."""
    document.run(world, "audit", "key")
    key = world.run("audit", "key")[1].strip()
    for options in ([], ["--json"], ["--copy", "checkpoints"], ["--copy", "missing"], ["--archive"], ["--discard-index"]):
        document.run(world, "audit", "verify", *options)
    document.run(world, "audit", "verify", "--key", key, shown="audit verify --key KEY")
    document.run(world, "audit", "verify", "--key", other_key, shown="audit verify --key OTHER")
    document.run(world, "audit", "verify", "--key", "nonsense")


def damage(document, world):
    """Adds what `audit verify` says about damaged copies of the journal."""
    segment = min((world.directory / "journal").glob("journal-*.jsonl"))
    whole = segment.read_text()
    lines = whole.split("\n")
    middle = len([line for line in lines if line]) // 2
    for title, changed in (
        ("a changed word", lines[:middle] + [lines[middle].replace('"kind"', '"kinds"')] + lines[middle + 1:]),
        ("a removed line", lines[:middle] + lines[middle + 1:]),
        ("two lines in place of each other", lines[:middle] + [lines[middle + 1], lines[middle]] + lines[middle + 2:]),
        ("a truncated end", lines[:middle]),
        ("a line that is no record", lines[:middle] + ["nonsense"] + lines[middle:]),
        ("an empty segment", [""]),
    ):
        segment.write_text("\n".join(changed))
        document.run(world, "audit", "verify", shown=f"audit verify ({title})")
        document.run(world, "audit", "verify", "--json", shown=f"audit verify --json ({title})")
    segment.unlink()
    document.run(world, "audit", "verify", shown="audit verify (without the first segment)")
    segment.write_text(whole)
    stranger = segment.with_name("journal-extra")
    stranger.write_text("")
    document.run(world, "audit", "verify", shown="audit verify (with a file that is no segment)")
    stranger.unlink()
    document.run(world, "audit", "verify", shown="audit verify (as before)")


def files(program, parent):
    """The journals of gateways with an SQLite ledger."""
    found = {}
    other = worlds.World(program, "hub", parent, {"BACKEND": "{ hub: embedded }"})
    other_key = other.run("audit", "key")[1].strip()
    for name in ("one", "hub", "crashed", "recovered"):
        world = other if name == "hub" else worlds.World(program, name, parent, {"BACKEND": "{ url: embedded }"})
        document = Document(world)
        document.use_lines(name, world)
        questions(document, world, short=name != "one")
        verify(document, world, other_key if name != "hub" else "ed25519:AAAA")
        if name != "crashed":
            damage(document, world)
        found[f"audit/{name}.txt"] = document.text()
    return found


def store(program, parent):
    """The journals of three gateways with one store, which are read from the store."""
    content = (worlds.INPUTS / "cluster" / "database.sql").read_text()
    with postgresql_store.Server(content) as server:
        nodes = [
            worlds.World(program, f"cluster/{name}", parent, {"BACKEND": "{ url: embedded }", "SOCKET": server.directory})
            for name in "abc"]
        document = Document(*nodes)
        document.normalise.replace(server.directory, "<socket>")
        for name, node in zip("abc", nodes):
            document.use_lines(name, node)
        questions(document, nodes[0])
        for options in (["--json"], ["--records", "--json"], ["--csv"], ["--json", "--to", "bob"]):
            document.run(nodes[1], "audit", "list", *options, "--with-node")
        document.run(nodes[1], "audit", "export", "--json", "--with-node")
        for node in nodes:
            document.add("node", node.name)
            for options in ([], ["--json"], ["--all-lines"], ["--all-lines", "--json"]):
                document.run(node, "audit", "verify", *options)
            document.run(node, "audit", "list", "--this-node")
            document.run(node, "audit", "tail", "-n", "3", "--this-node")
        server.sql("DELETE FROM journal_line WHERE number = 4 AND instance = (SELECT min(instance) FROM journal_line)")
        document.run(nodes[1], "audit", "verify", "--all-lines", shown="audit verify --all-lines (a line is missing in the store)")
        found = {"audit/cluster.txt": document.text()}
    document = Document(*nodes)
    document.normalise.replace(server.directory, "<socket>")
    for options in ([], ["--this-node"]):
        document.run(nodes[0], "audit", "list", "--rows", "3", *options)
    found["audit/without-store.txt"] = document.text()
    return found
