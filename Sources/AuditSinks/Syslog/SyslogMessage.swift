internal import GatewaySupport
internal import Glibc

/// The syslog messages (RFC 5424) of journal lines.
///
/// The main members of the record are structured data, and the line itself is the message. The message begins without a
/// byte order mark, so that receivers can parse it as JSON.
struct SyslogMessage: Sendable {
    private let priority: Int
    private let host: String
    private let process: String

    /// The maximum number of bytes of a line in a message. A longer line is cut off, and the structured data says so.
    static let maximumLineBytes = 32 << 10
    /// The maximum number of bytes of a structured data value; a longer one is cut off.
    private static let maximumValueBytes = 256
    /// The members of a record that are structured data, in this order.
    private static let members = [
        "seq", "call", "action", "user", "attempted", "authenticator", "peer", "recipient", "audience", "pns", "result",
        "reason", "status", "count", "hash",
    ]
    /// The SD-ID. 32473 is the enterprise number for documentation (RFC 5612), because the project has none.
    static let structureID = "notify@32473"

    /// Creates messages of a facility, from this machine and process.
    init(facility: SyslogSettings.Facility) {
        self.init(facility: facility, host: HostName.current ?? "-", process: getpid())
    }

    init(facility: SyslogSettings.Facility, host: String, process: pid_t) {
        // Severity 5, notice: all records are normal but significant events.
        priority = facility.code * 8 + 5
        let printable = host.utf8.filter { (0x21...0x7E).contains($0) }.prefix(255)
        self.host = printable.isEmpty ? "-" : String(decoding: printable, as: UTF8.self)
        self.process = String(process)
    }

    /// Returns the message of a line.
    func bytes(_ line: ArraySlice<UInt8>) -> [UInt8] {
        let record = try? JSONParser(depthLimit: 8, memberLimit: 4096).parse(Array(line).span)
        let isCut = line.count > Self.maximumLineBytes
        var data = "[\(Self.structureID)"
        for name in Self.members {
            let value: String? =
                switch record?[name] {
                case .string(let text): text
                case .number(let text): text
                default: nil
                }
            if let value { data += " \(name)=\"\(Self.escaped(value))\"" }
        }
        if isCut { data += " truncated=\"true\"" }
        data += "]"
        let time = record?["at"]?.string ?? "-"
        let kind = record?["kind"]?.string ?? "-"
        let head = "<\(priority)>1 \(time) \(host) notify-gateway \(process) \(kind) \(data) "
        return Array(head.utf8) + (isCut ? Self.prefix(line) : line)
    }

    /// Returns the message of a line with its length in front (RFC 5425, section 4.3; RFC 6587, section 3.4.1).
    func frame(_ line: ArraySlice<UInt8>) -> [UInt8] {
        let message = bytes(line)
        return Array("\(message.count) ".utf8) + message
    }

    /// Returns a structured data value (RFC 5424, section 6.3.3): `"`, `\` and `]` are escaped. Control characters,
    /// which receivers may reject, are replaced.
    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in prefix(Array(text.utf8)[...], maximumValueBytes) {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "]"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20, 0x7F: bytes.append(UInt8(ascii: "?"))
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the first bytes, cut off before a character that does not fit.
    private static func prefix(_ bytes: ArraySlice<UInt8>, _ limit: Int = maximumLineBytes) -> ArraySlice<UInt8> {
        guard bytes.count > limit else { return bytes }
        var end = bytes.startIndex + limit
        // A continuation byte (RFC 3629) belongs to the character before.
        while end > bytes.startIndex, bytes[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
        return bytes[..<end]
    }
}
