"""A PostgreSQL server for the gateways of these tests. It uses the server of Tests/Faults."""

import asyncio
import re
import time

import worlds  # The path of the test libraries.
import postgresql

DATABASE = "golden"


class Server:
    """A running server with the database of the gateways, which a dump may fill."""

    def __init__(self, content=None):
        self.content = content
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        self.server = postgresql.Server()
        self.directory = self.server.directory
        # The gateway's names of roles.
        self.loop.run_until_complete(self.server.start())
        if self.content:
            self.server.client("createdb", "--owner", postgresql.ROLE, DATABASE)
            self.server.client("psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", DATABASE, text=self.content)
        else:
            self.server.create_database(DATABASE)
        return self

    def __exit__(self, *_):
        self.loop.run_until_complete(self.server.remove())
        self.loop.close()

    def sql(self, text):
        return self.server.sql(DATABASE, text)

    def wait_for(self, statement, seconds=30):
        """Waits until a query has a row."""
        end = time.monotonic() + seconds
        while not self.sql(statement):
            if time.monotonic() > end:
                raise RuntimeError(f"no row after {seconds} s: {statement}")
            time.sleep(0.05)

    def wait_for_copies(self, nodes):
        """Waits until the database has the last line of the journal of each gateway."""
        for node in nodes:
            self.wait_for(f"SELECT 1 FROM journal_line WHERE line LIKE '%{node.journal()[-1]['hash']}%'")

    def dump(self):
        """Returns the schema and the rows as text. The gateways were of an earlier version."""
        self.sql("UPDATE node SET program = '0.1.0'")
        text = self.server.client("pg_dump", "-d", DATABASE)
        return re.sub(r"(?m)^(--.*|\\(un)?restrict .*|\s*)\n", "", text)
