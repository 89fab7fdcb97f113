"""The gateway behind Envoy; see Tests/Field/envoy."""

import asyncio
import pathlib
import sys

import field
import traffic


def configure(protocol, port, gateway, directory):
    options = "http2_protocol_options: {}" if protocol == "h2" else "http_protocol_options: {}"
    path = pathlib.Path(directory) / "envoy.yaml"
    path.write_text(f"""
static_resources:
  listeners:
  - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          use_remote_address: true
          http_protocol_options: {{ enable_trailers: true }}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{{ match: {{ prefix: "/" }}, route: {{ cluster: gateway, timeout: 90s }} }}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{ "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }}
  clusters:
  - name: gateway
    connect_timeout: 30s
    type: STATIC
    load_assignment:
      cluster_name: gateway
      endpoints:
      - lb_endpoints:
        - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {gateway} }} }} }}
    circuit_breakers:
      thresholds: [{{ max_connections: 4000, max_pending_requests: 4000, max_requests: 4000 }}]
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{ {options} }}
""")
    program = pathlib.Path(sys.executable).with_name("envoy")
    return [str(program), "-c", str(path), "--concurrency", "1", "--disable-hot-restart", "-l", "warning"]


if __name__ == "__main__":
    checks = field.Checks()
    asyncio.run(traffic.check_proxy(traffic.arguments(), checks, "Envoy", configure))
    checks.finish()
