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
    """Starts of a gateway that get a signal. Before the first instruction of the program, any signal ends the process."""

    def __init__(self, gateway):
        self.gateway, self.problems = gateway, []
        # The moments at which a signal ended the process although the program had begun, by signal and status.
        self.ends = {}
        # The signals that ended a process whose program had not begun, and the last such moment in milliseconds.
        self.starts, self.early, self.last_early = 0, 0, 0

    async def run(self, moments):
        """Sends each signal at each of the moments, which are in milliseconds after the execution."""
        for moment in moments:
            await self.hang_up(moment)
            await self.terminate(moment)
        for (name, status), found in self.ends.items():
            self.problems.append(
                f"{name} during the start ended the gateway with {status} at {len(found)} of {len(moments)} moments, in ms: "
                + " ".join(map(str, found[:20])) + (" …" if len(found) > 20 else ""))

    async def begin(self, moment, number):
        """Starts the gateway and sends the signal. Returns the process and whether the program had begun."""
        self.starts += 1
        process = await asyncio.create_subprocess_exec(
            self.gateway.program, "serve", "--config", str(self.gateway.configuration),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = bench.now() + moment / 1000
        # The event loop is not precise enough for the last milliseconds.
        await asyncio.sleep(max(moment / 1000 - 0.003, 0))
        while (left := end - bench.now()) > 0:
            time.sleep(min(left, 0.0002))
        has_begun = ignores_broken_pipes(process.pid)
        process.send_signal(number)
        return process, has_begun

    async def hang_up(self, moment):
        process, has_begun = await self.begin(moment, signal.SIGHUP)
        log = Log(process)
        try:
            if not await log.has("Gateway started"):
                await self.ended(process, moment, has_begun, "SIGHUP", log)
                return
            if not await self.is_ready(log):
                self.problems.append(f"SIGHUP after {moment} ms: not ready: {log.text[-300:]}")
            if has_begun and not await log.has("Configuration reloaded"):
                self.problems.append(f"SIGHUP after {moment} ms: no reload followed the start: {log.text[-300:]}")
            seen = log.text.count("Configuration reloaded")
            process.send_signal(signal.SIGHUP)
            if not await log.has("Configuration reloaded", seen + 1):
                self.problems.append(f"SIGHUP after {moment} ms: a later one reloads nothing: {log.text[-300:]}")
            process.terminate()
            await self.ended(process, moment, True, "SIGTERM after a reload and SIGHUP", log)
        finally:
            await kill(process)

    async def terminate(self, moment):
        process, has_begun = await self.begin(moment, signal.SIGTERM)
        try:
            await self.ended(process, moment, has_begun, "SIGTERM", Log(process))
        finally:
            await kill(process)

    async def ended(self, process, moment, has_begun, name, log):
        """Records how the process ended, or that it did not."""
        try:
            _, status = await asyncio.wait_for(asyncio.gather(log.has("\0"), process.wait()), LIMIT)
        except asyncio.TimeoutError:
            self.problems.append(f"{name} after {moment} ms: the gateway still runs after {LIMIT} s: {log.text[-300:]}")
            return
        if not has_begun and status in (-signal.SIGHUP, -signal.SIGTERM):
            self.early += 1
            self.last_early = max(self.last_early, moment)
        elif name == "SIGTERM" and status == -signal.SIGTERM:
            # Nothing is open to close yet, and a service manager takes this for a clean stop.
            pass
        elif status in (-signal.SIGHUP, -signal.SIGTERM):
            self.ends.setdefault((name, status), []).append(moment)
        elif status != 0 or name == "SIGHUP":
            self.problems.append(f"{name} after {moment} ms: the gateway ended with {status}: {log.text[-300:]}")

    async def is_ready(self, log):
        self.gateway.admin_port = int(re.search(r'"admin":"127\.0\.0\.1:(\d+)"', log.text)[1])
        end = bench.now() + LIMIT
        while (await self.gateway.readiness())[0] != 200:
            if bench.now() > end:
                return False
        return True


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


async def kill(process):
    if process.returncode is None:
        process.kill()
        await process.wait()
