internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads the two paths of a side of a profile. A path that is not given keeps its value.
    static func readPaths(_ reader: ConfigurationReader, register: inout String, notifications: inout String) {
        register = path("register-path", reader) ?? register
        notifications = path("notifications-path", reader) ?? notifications
        if register == notifications {
            reader.report("\"register-path\" and \"notifications-path\" are the same: \"\(register)\"")
        }
    }

    private static func path(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let path = reader.string(name) else { return nil }
        guard isPlain(path) else {
            reader.report(
                name,
                "\"\(path)\" is not a path; use segments of letters, digits, _ . ~ and -, each after a /")
            return nil
        }
        return path
    }

    /// Returns whether every server interprets the path in the same way: no escapes, no empty segments, no dot segments
    /// (RFC 3986, section 5.2.4).
    private static func isPlain(_ path: String) -> Bool {
        func isPathByte(_ byte: UInt8) -> Bool {
            switch byte | 0x20 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
            }
        }
        guard path.hasPrefix("/"), path.utf8.count <= 256 else { return false }
        return path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().allSatisfy { segment in
            !segment.isEmpty && segment != "." && segment != ".." && segment.utf8.allSatisfy(isPathByte)
        }
    }
}
