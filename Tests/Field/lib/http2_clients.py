"""HTTP/2 client libraries during restarts of the gateway; see Tests/Field/http2-clients."""

import asyncio
import os
import pathlib
import shutil
import subprocess

import field
import traffic

CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
OKHTTP = "/usr/share/java/okhttp.jar:/usr/share/java/okio.jar"


def commands(directory):
    """Builds the clients whose tools exist. Returns their commands by name."""
    found, built = {}, pathlib.Path(directory)
    if shutil.which("go"):
        subprocess.run(
            ["go", "build", "-o", built / "client", CLIENTS / "client.go"], check=True,
            env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(built / "go"), "GOFLAGS": ""})
        found["Go"] = [str(built / "client")]
    if shutil.which("node"):
        found["Node"] = ["node", str(CLIENTS / "client.mjs")]
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", built, CLIENTS / "Client.java"], check=True)
        found["java.net.http"] = [
            "java", "-Djdk.internal.httpclient.disableHostnameVerification=true", "-cp", str(built), "Client"]
        if all(pathlib.Path(jar).exists() for jar in OKHTTP.split(":")):
            path = f"{built}:{OKHTTP}"
            subprocess.run(["javac", "-d", built, "-cp", path, CLIENTS / "OkHttp.java"], check=True)
            found["OkHttp"] = ["java", "-cp", path, "OkHttp"]
    return found


async def read(stream, result):
    while line := (await stream.readline()).decode("utf-8", "replace").strip():
        if line == "sent":
            result.sent += 1
        elif line.startswith("ok "):
            result.answered.add(line[3:])
        elif line.startswith("repeated "):
            result.repeated += 1
        else:
            result.failed(line[:120])


async def check(options, checks, workers):
    restarts = 20 if options.full else 2
    backend = traffic.Backend()
    await backend.start()
    gateway = traffic.Gateway(options.program, backend, tls=True)
    found = commands(gateway.directory)
    await gateway.start()
    try:
        for name, command in found.items():
            backend.received.clear()
            result = traffic.Result()
            process = await asyncio.create_subprocess_exec(
                *command, f"https://127.0.0.1:{gateway.port}{traffic.TARGET}", traffic.LOGIN, str(workers),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            reading = asyncio.create_task(read(process.stdout, result))
            await asyncio.sleep(2)
            for _ in range(restarts):
                await gateway.restart()
                await asyncio.sleep(0.5)
            process.stdin.close()
            await process.wait()
            await reading
            repeated = f", {result.repeated} calls repeated with their Idempotency-Key" if result.repeated else ""
            result.judge(checks, f"{name}, {workers} workers, {restarts} restarts{repeated}", backend)
    finally:
        gateway.remove()
    backend.server.close()


if __name__ == "__main__":
    checks = field.Checks()
    asyncio.run(check(traffic.arguments(), checks, 10))
    checks.finish()
