"""The gateway behind Caddy; see Tests/Field/caddy."""

import asyncio
import pathlib

import field
import traffic


def configure(protocol, port, gateway, directory):
    path = pathlib.Path(directory) / "Caddyfile"
    path.write_text(f"""
{{
    admin off
    auto_https off
    storage file_system {directory}/caddy
}}
http://127.0.0.1:{port}, http://gateway.test:{port} {{
    bind 127.0.0.1
    reverse_proxy {"h2c://" if protocol == "h2" else "http://"}127.0.0.1:{gateway} {{
        transport http {{
            dial_timeout 30s
            response_header_timeout 90s
        }}
    }}
}}
""")
    return ["caddy", "run", "--config", str(path), "--adapter", "caddyfile"]


if __name__ == "__main__":
    checks = field.Checks()
    asyncio.run(traffic.check_proxy(traffic.arguments(), checks, "Caddy", configure))
    checks.finish()
