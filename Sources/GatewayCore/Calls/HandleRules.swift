internal import GatewaySupport

/// The grammar of device handles (docs/contract.md: grammars), with the hosts that channel URIs may name.
public struct HandleRules: Sendable, Hashable {
    /// The host patterns of WNS channel URIs: a host name, or `*.` and the required suffix.
    public var wnsHosts: [String]
    /// The host patterns of MPNS channel URIs, in the same form.
    public var mpnsHosts: [String]

    /// Creates rules. The default hosts are Microsoft's.
    public init(wnsHosts: [String] = ["*.notify.windows.com"], mpnsHosts: [String] = ["*.notify.live.net"]) {
        self.wnsHosts = wnsHosts.map(\.asciiLowercased)
        self.mpnsHosts = mpnsHosts.map(\.asciiLowercased)
    }

    /// Returns the canonical handle of a registration for the service.
    public func handle(_ text: String, of service: PushService) throws(DeviceHandle.Fault) -> DeviceHandle {
        guard !Self.describesAToken(text) else { throw .descriptionOfAToken }
        switch service {
        case .apns: return try apns(text)
        case .fcm: return try fcm(text)
        case .wns: return try channel(text, of: .wns, schemes: ["https"], hosts: wnsHosts)
        case .mpns: return try channel(text, of: .mpns, schemes: ["https", "http"], hosts: mpnsHosts)
        }
    }

    /// Returns the canonical handle of a call that names no service. Hexadecimal digits are an APNs handle, a URI is a
    /// WNS or MPNS handle by its host, and anything else is an FCM handle.
    public func handleOfUnnamedService(_ text: String) throws(DeviceHandle.Fault) -> DeviceHandle {
        guard !Self.describesAToken(text) else { throw .descriptionOfAToken }
        if text.utf8.allSatisfy({ $0.hexDigitValue != nil }) { return try apns(text) }
        guard text.contains("://") else { return try fcm(text) }
        do {
            return try handle(text, of: .wns)
        } catch {
            // If neither service accepts the URI, report the error of WNS, which is still in operation.
            guard let mpns = try? handle(text, of: .mpns) else { throw error }
            return mpns
        }
    }

    private static func describesAToken(_ text: String) -> Bool {
        text.hasPrefix("{") || text.hasPrefix("<") || text.hasPrefix("(")
    }

    private func apns(_ text: String) throws(DeviceHandle.Fault) -> DeviceHandle {
        guard (32...512).contains(text.utf8.count), text.utf8.count.isMultiple(of: 2),
            text.utf8.allSatisfy({ $0.hexDigitValue != nil })
        else { throw .malformed(.apns) }
        // The hub stores APNs handles in upper case and compares what it stored.
        return DeviceHandle(service: .apns, canonical: text.uppercased())
    }

    private func fcm(_ text: String) throws(DeviceHandle.Fault) -> DeviceHandle {
        func isTokenByte(_ byte: UInt8) -> Bool {
            switch byte.asciiLowercased {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        guard (16...4096).contains(text.utf8.count), text.utf8.allSatisfy(isTokenByte) else { throw .malformed(.fcm) }
        return DeviceHandle(service: .fcm, canonical: text)
    }

    private func channel(
        _ text: String, of service: PushService, schemes: [String], hosts: [String]
    ) throws(DeviceHandle.Fault) -> DeviceHandle {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy(Self.isURIByte), let colon = text.firstRange(of: "://")
        else {
            throw .malformed(service)
        }
        let scheme = String(text[..<colon.lowerBound]).asciiLowercased
        let rest = text[colon.upperBound...]
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        // User information is rejected, because it could disguise the host.
        let authority = rest[..<authorityEnd]
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let host = String(parts[0]).asciiLowercased
        let port = parts.count == 2 ? UInt16(parts[1]) : nil
        guard schemes.contains(scheme), !authority.contains("@"), !host.isEmpty, host.utf8.allSatisfy(Self.isHostByte),
            parts.count == 1 || (port != nil && parts[1].utf8.allSatisfy(\.isASCIIDigit))
        else { throw .malformed(service) }
        guard hosts.contains(where: { Self.host(host, matches: $0) }) else { throw .foreignHost }
        // The scheme's default port and no port are the same channel (RFC 3986, section 6.2.3), and so the same handle.
        let standard: UInt16 = scheme == "https" ? 443 : 80
        let written = port.map { $0 == standard ? host : "\(host):\($0)" } ?? host
        guard let target = ChannelURI.canonical(rest[authorityEnd...]) else { throw .malformed(service) }
        let canonical = "\(scheme)://\(written)\(target)"
        // Normalization may have escaped characters and so have lengthened the URI.
        guard canonical.utf8.count <= 2048 else { throw .malformed(service) }
        return DeviceHandle(
            service: service, canonical: canonical, former: "\(scheme)://\(written)\(rest[authorityEnd...])")
    }

    private static func host(_ host: String, matches pattern: String) -> Bool {
        guard pattern.hasPrefix("*.") else { return host == pattern }
        let suffix = pattern.dropFirst()
        return host.utf8.count > suffix.utf8.count && host.hasSuffix(suffix) && !host.hasPrefix(".")
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Returns whether the byte may occur in a URI (RFC 3986). `'` is excluded because the backend pastes the handle
    /// into a query of the hub; `#` is excluded because a channel URI has no fragment.
    private static func isURIByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "-._~:/?[]@!$&()*+,;=%".utf8.contains(byte)
        }
    }
}
