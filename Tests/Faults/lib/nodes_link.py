"""The way of one gateway to PostgreSQL: a Unix socket before the server's, which a test cuts and switches to another server."""

import asyncio
import pathlib
import shutil
import tempfile

import postgresql

# The directions in which a cut holds bytes back.
TO_SERVER, TO_GATEWAY = "to the server", "to the gateway"


class Link:
    """A proxy that passes bytes on until it is cut.

    A cut holds bytes back as a network that loses packets does: both ends believe that the connection is open. Afterwards the
    bytes arrive late, or the connections are reset.
    """

    def __init__(self, server):
        self.server = server
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-link-"))
        self.open = {direction: asyncio.Event() for direction in (TO_SERVER, TO_GATEWAY)}
        for event in self.open.values():
            event.set()
        self.is_refusing = False
        self.tasks = set()

    async def start(self):
        self.listener = await asyncio.start_unix_server(self.accept, self.directory / f".s.PGSQL.{postgresql.PORT}")

    def cut(self, *directions):
        """Holds back what is sent in these directions, until `heal`."""
        for direction in directions:
            self.open[direction].clear()

    def refuse(self):
        """Resets all connections, and each new one, until `heal`."""
        self.is_refusing = True
        self.reset()

    def heal(self, is_late):
        """Ends a cut. The bytes that were held back arrive now if `is_late`; otherwise their connections are reset."""
        self.is_refusing = False
        if not is_late:
            self.reset()
        for event in self.open.values():
            event.set()

    def switch(self, server):
        """Leads to another server from now on; connections to the former one are reset."""
        self.server = server
        self.reset()

    def reset(self):
        for task in list(self.tasks):
            task.cancel()

    async def accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        other, copies = None, []
        try:
            if not self.is_refusing:
                other_reader, other = await asyncio.open_unix_connection(
                    self.server.directory / f".s.PGSQL.{postgresql.PORT}")
                ways = (reader, other, TO_SERVER), (other_reader, writer, TO_GATEWAY)
                copies = [asyncio.create_task(self.copy(*way)) for way in ways]
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for task in copies:
                task.cancel()
            for end in (writer, other):
                if end:
                    end.transport.abort()
            self.tasks.discard(asyncio.current_task())

    async def copy(self, reader, writer, direction):
        """Copies until an end is closed. The other end learns of that only while its direction is open."""
        try:
            while data := await reader.read(1 << 16):
                await self.open[direction].wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        await self.open[direction].wait()

    async def remove(self):
        self.listener.close()
        self.reset()
        shutil.rmtree(self.directory, ignore_errors=True)
