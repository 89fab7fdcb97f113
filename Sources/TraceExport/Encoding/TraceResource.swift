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

    init(service: String, version: String, host: String = Self.hostName, process: Int = Int(getpid())) {
        self.service = service
        self.version = version
        self.host = host
        self.process = process
    }

    /// The name of this machine; empty if it has none.
    static var hostName: String {
        var name = [UInt8](repeating: 0, count: 256)
        let result = name.withUnsafeMutableBytes { bytes in
            // The last byte stays zero, also for a name that is cut off.
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { gethostname($0, text.count - 1) } ?? -1
            }
        }
        return result == 0 ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : ""
    }
}
