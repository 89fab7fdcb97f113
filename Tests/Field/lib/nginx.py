"""The gateway behind nginx; see Tests/Field/nginx."""

import asyncio
import pathlib

import field
import traffic


def configure(protocol, port, gateway, directory):
    path = pathlib.Path(directory) / "nginx.conf"
    path.write_text(f"""
daemon off;
pid {directory}/nginx.pid;
error_log stderr error;
events {{ worker_connections 4000; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    upstream gateway {{ server 127.0.0.1:{gateway}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://gateway;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_connect_timeout 30s;
            proxy_read_timeout 90s;
        }}
    }}
}}
""")
    return ["nginx", "-p", str(directory), "-e", "stderr", "-c", str(path)]


if __name__ == "__main__":
    checks = field.Checks()
    # nginx speaks HTTP/1.1 to its upstreams.
    asyncio.run(traffic.check_proxy(traffic.arguments(), checks, "nginx", configure, protocols=["h1"]))
    checks.finish()
