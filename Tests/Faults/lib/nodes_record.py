"""What the clients of several nodes were told, and what reached the backend."""

import asyncio
import random

import bench
import registrar


class Send:
    """One text that a client sent: once, or with a key any number of times."""

    def __init__(self, user, session):
        self.user, self.session, self.began = user, session, bench.now()
        self.statuses = []


class Record:
    """The sends by text, the ended sessions with the time of the acknowledgement, and what contradicts the promises."""

    def __init__(self):
        self.sends = {}
        # (time of the acknowledgement, token, how), the newest last, and the sends with such a token as (begin, that time, how).
        self.ended, self.attempts = [], {}
        # Handles whose registrations a revocation ended.
        self.revoked_handles = set()
        self.problems = []
        # The responses by kind and status; those of valid credentials with 401.
        self.statuses, self.unauthorized = {}, 0
        self.revocations, self.registrations, self.logins, self.logouts = 0, 0, 0, 0
        self.texts, self.began = 0, bench.now()

    def say(self, problem):
        """Records a problem with its time."""
        self.problems.append(f"{problem} [at {bench.now() - self.began:.1f} s]")

    def text(self, user, session=None):
        """Returns a new text to send."""
        self.texts += 1
        text = f"{user}-{self.texts}"
        self.sends[text] = Send(user, session)
        return text

    def add_status(self, kind, status):
        self.statuses[kind, status] = self.statuses.get((kind, status), 0) + 1

    def refused(self, what):
        """Records a 401 to a valid credential."""
        self.unauthorized += 1
        self.say(f"401 to a valid credential: {what}")


class Backend(registrar.Backend):
    """A backend that records when each send arrived, and responds after a moment, so that calls are in flight at each fault."""

    def __init__(self, record):
        super().__init__()
        self.record, self.chance = record, random.Random(1)
        # The arrivals of each text as (time, id of the call).
        self.arrivals, self.calls = {}, set()

    async def serve(self, reader, writer):
        try:
            while True:
                method, target, fields, body = await registrar.read_message(reader)
                response = self.response(method, target, fields, body)
                await asyncio.sleep(self.chance.uniform(0, 0.01))
                writer.write(response)
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            writer.transport.abort()

    def response(self, method, target, fields, body):
        before = len(self.sends)
        response = super().response(method, target, fields, body)
        for call, text in self.sends[before:]:
            if call in self.calls:
                self.record.say(f"call {call} was sent twice")
            self.calls.add(call)
            arrivals = self.arrivals.setdefault(text, [])
            arrivals.append((bench.now(), call))
            if len(arrivals) > 1:
                self.record.say(f"the text {text} was sent {len(arrivals)} times: {[id for _, id in arrivals]}")
        return response
