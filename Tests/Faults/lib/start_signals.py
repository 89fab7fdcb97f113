"""SIGHUP and SIGTERM at moments after `serve` was executed."""

import asyncio
import pathlib
import re
import signal
import subprocess
import time

import bench

# What a start, a reload or a stop may take on a busy machine, in seconds.
LIMIT = 20


class Signals:
    """Starts of a gateway that get a signal. A gateway before its first instruction can only end by a signal."""

    def __init__(self):
        self.problems = []
        # The signals that ended a process whose program had not begun, and the last such moment in milliseconds.
        self.starts, self.early, self.last_early = 0, 0, 0

    async def run(self, moments, gateways):
        """Sends each signal at each of the moments, which are in milliseconds, to one gateway after the other."""
        for number, moment in enumerate(moments):
            self.gateway = gateways[number % len(gateways)]
            await self.hang_up(moment)
            await self.terminate(moment)

    @property
    def figures(self):
        return (
            f"{self.starts} starts with a signal, {self.early} of them ended before the program's first instruction, the last "
            f"{self.last_early} ms after its execution")

    async def begin(self, moment, number):
        """Starts the gateway and sends the signal. Returns whether the program had begun."""
        self.starts += 1
        self.process = await asyncio.create_subprocess_exec(
            self.gateway.program, "serve", "--config", str(self.gateway.configuration),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = bench.now() + moment / 1000
        # The event loop is not precise enough, and has nothing else to do.
        while (left := end - bench.now()) > 0:
            time.sleep(min(left, 0.0002))
        has_begun = ignores_broken_pipes(self.process.pid)
        self.process.send_signal(number)
        return has_begun

    async def hang_up(self, moment):
        has_begun = await self.begin(moment, signal.SIGHUP)
        log = Log(self.process)
        try:
            if not await log.has("Gateway started"):
                await self.ended(moment, has_begun, "SIGHUP", log)
                return
            if not await self.is_ready(log):
                self.problems.append(f"SIGHUP after {moment} ms: not ready: {log.text[-300:]}")
            if has_begun and not await log.has("Configuration reloaded"):
                self.problems.append(f"SIGHUP after {moment} ms: no reload followed the start: {log.text[-300:]}")
            seen = log.text.count("Configuration reloaded")
            self.process.send_signal(signal.SIGHUP)
            if not await log.has("Configuration reloaded", seen + 1):
                self.problems.append(f"SIGHUP after {moment} ms: a later one reloads nothing: {log.text[-300:]}")
            self.process.terminate()
            await self.ended(moment, True, "SIGTERM after a reload, SIGHUP", log)
        finally:
            await self.kill()

    async def terminate(self, moment):
        has_begun = await self.begin(moment, signal.SIGTERM)
        try:
            await self.ended(moment, has_begun, "SIGTERM", Log(self.process))
        finally:
            await self.kill()

    async def ended(self, moment, has_begun, name, log):
        """Records how the process ended, or that it did not."""
        try:
            _, status = await asyncio.wait_for(asyncio.gather(log.has("\0"), self.process.wait()), LIMIT)
        except asyncio.TimeoutError:
            self.problems.append(f"{name} after {moment} ms: the gateway still runs after {LIMIT} s: {log.text[-300:]}")
            return
        if not has_begun and status in (-signal.SIGHUP, -signal.SIGTERM):
            self.early += 1
            self.last_early = max(self.last_early, moment)
        elif status != 0 or name == "SIGHUP":
            self.problems.append(f"{name} after {moment} ms: the gateway ended with {status}: {log.text[-300:]}")

    async def is_ready(self, log):
        self.gateway.admin_port = int(re.search(r'"admin":"127\.0\.0\.1:(\d+)"', log.text)[1])
        end = bench.now() + LIMIT
        while (await self.gateway.readiness())[0] != 200:
            if bench.now() > end:
                return False
        return True

    async def kill(self):
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


class Log:
    """The log of a process, read as far as it is asked about."""

    def __init__(self, process):
        self.stream, self.text = process.stderr, ""

    async def has(self, words, count=1):
        """Reads until the log has these words that many times. Returns false if it ends or takes too long before that."""
        end = bench.now() + LIMIT
        while self.text.count(words) < count:
            try:
                data = await asyncio.wait_for(self.stream.read(65536), max(end - bench.now(), 0.001))
            except asyncio.TimeoutError:
                return False
            if not data:
                return False
            self.text += data.decode()
        return True


def ignores_broken_pipes(process):
    """Returns whether a process ignores SIGPIPE, which is among the first things that the program does."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return bool(int(re.search(r"SigIgn:\s*([0-9a-f]+)", status)[1], 16) >> (signal.SIGPIPE - 1) & 1)
