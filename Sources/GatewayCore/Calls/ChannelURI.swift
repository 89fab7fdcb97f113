internal import GatewaySupport

/// Normalization of channel URIs that differ only in percent-encoding (RFC 3986, section 6.2.2). Without it, a second
/// account could bind the same channel under another spelling.
///
/// Escapes are written with lower-case digits, as WNS issues them. URIs that are already in use therefore stay as they
/// are in the ledger and in the hub, and the push service receives its own spelling.
enum ChannelURI {
    /// Returns the canonical form of path and query, or nil if a percent escape is malformed.
    static func canonical(_ target: Substring) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return path(target.utf8) }
        guard let path = path(target[..<mark].utf8), let query = query(target[target.index(after: mark)...].utf8)
        else { return nil }
        return "\(path)?\(query)"
    }

    /// Normalizes a path. An escaped reserved character stays escaped (RFC 3986, section 2.2), dot segments are removed
    /// (section 6.2.2.3), and an empty path becomes `/` (section 6.2.3).
    private static func path(_ bytes: Substring.UTF8View) -> String? {
        var text: [UInt8] = []
        guard
            read(
                bytes,
                { byte, isEscaped in
                    if isEscaped, !isUnreserved(byte) { append(escaped: byte, to: &text) } else { text.append(byte) }
                })
        else { return nil }
        let segments = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        var kept: [ArraySlice<UInt8>] = []
        for (place, segment) in zip(segments.indices, segments) {
            let isLast = place == segments.indices.last
            switch segment {
            case [UInt8(ascii: ".")]: if isLast { kept.append([]) }
            case [UInt8(ascii: "."), UInt8(ascii: ".")]:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        return "/" + kept.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    /// Normalizes a query of form-encoded pairs. A character and its escape are equivalent within a name or a value,
    /// except for `+`, which stands for a space, and for the separators `&` and `=`.
    private static func query(_ bytes: Substring.UTF8View) -> String? {
        var pairs: [String] = []
        for pair in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            var words: [String] = []
            for part in parts {
                var text: [UInt8] = []
                guard
                    read(
                        part,
                        { byte, isEscaped in
                            if isUnreserved(byte) || (byte == UInt8(ascii: "+") && !isEscaped) {
                                text.append(byte)
                            } else {
                                append(escaped: byte, to: &text)
                            }
                        })
                else { return nil }
                words.append(String(decoding: text, as: UTF8.self))
            }
            pairs.append(words.joined(separator: "="))
        }
        return pairs.joined(separator: "&")
    }

    /// Calls the closure with each decoded byte of the text.
    ///
    /// - Returns: False if a percent escape is malformed.
    private static func read(_ bytes: Substring.UTF8View, _ emit: (_ byte: UInt8, _ isEscaped: Bool) -> Void) -> Bool {
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                emit(byte, false)
                continue
            }
            guard let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue else {
                return false
            }
            emit(high << 4 | low, true)
        }
        return true
    }

    private static func append(escaped byte: UInt8, to text: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Returns whether the byte is an unreserved character (RFC 3986, section 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
