"""The gateway behind HAProxy; see Tests/Field/haproxy."""

import asyncio
import pathlib

import field
import traffic


def configure(protocol, port, gateway, directory):
    path = pathlib.Path(directory) / "haproxy.cfg"
    path.write_text(f"""
global
    maxconn 4000
defaults
    mode http
    option forwardfor
    option http-keep-alive
    http-reuse always
    timeout connect 30s
    timeout client 90s
    timeout server 90s
frontend front
    bind 127.0.0.1:{port}
    default_backend gateway
backend gateway
    server gateway 127.0.0.1:{gateway} {"proto h2" if protocol == "h2" else ""}
""")
    return ["haproxy", "-db", "-f", str(path)]


if __name__ == "__main__":
    checks = field.Checks()
    asyncio.run(traffic.check_proxy(traffic.arguments(), checks, "HAProxy", configure))
    checks.finish()
