internal import GatewaySupport
internal import Glibc

/// The program and the machine that the spans are from (OpenTelemetry resource).
struct TraceResource: Sendable, Hashable {
    /// `service.name`.
    let service: String
    /// `service.version`.
    let version: String
    /// `host.name`.
    let host: String
    /// `process.pid`.
    let process: Int

    init(service: String, version: String, host: String = HostName.current ?? "", process: Int = Int(getpid())) {
        self.service = service
        self.version = version
        self.host = host
        self.process = process
    }
}
