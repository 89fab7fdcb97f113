"""A backend with failures by text and handle, in a thread. It keeps the bytes of all requests."""

import asyncio
import json
import threading

import worlds  # The path of the test libraries.
import registrar


class Backend(registrar.Backend):
    """A classic backend that responds to some messages and handles as the word in them says, and keeps what arrives."""

    def __init__(self):
        super().__init__()
        self.arrived = []
        self.held = threading.Event()
        self.writers = set()
        started = threading.Event()
        self.loop = asyncio.new_event_loop()

        async def begin():
            await self.start()
            started.set()

        def run():
            asyncio.set_event_loop(self.loop)
            self.loop.create_task(begin())
            self.loop.run_forever()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        started.wait()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = {}
                for line in head.decode("latin-1").split("\r\n")[1:]:
                    name, _, value = line.partition(":")
                    fields[name.lower()] = value.strip()
                body = await reader.readexactly(int(fields.get("content-length") or 0))
                self.arrived.append(head + body)
                method, target = head.decode("latin-1").split()[:2]
                word = self.word(method, target, body)
                if word == "hold":
                    self.held.set()
                    await reader.read()
                    break
                if word == "cut":
                    break
                if word and word.startswith("status-"):
                    writer.write(f"HTTP/1.1 {word[7:]} Scripted\r\nContent-Length: 0\r\n\r\n".encode())
                else:
                    writer.write(self.response(method, target, fields, body))
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            pass
        writer.transport.abort()

    # The registrations for which a method is answered with a status, as (method, number): status.
    statuses = {}

    def word(self, method, target, body):
        """Returns the scripted failure of a request; None for a success."""
        if target.startswith("/api/notifications"):
            text = json.loads(body)
            return text.strip() if text.strip() in ("hold", "cut") or text.startswith("status-") else None
        status = self.statuses.get((method, target.rpartition("/")[2]))
        return f"status-{status}" if status else None

    def close(self):
        """Stops accepting; the port refuses connections from then on."""
        def end():
            self.server.close()
            for writer in self.writers:
                writer.transport.abort()
            self.loop.call_later(0.05, self.loop.stop)
        self.loop.call_soon_threadsafe(end)
        self.thread.join()
