#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The hosts that are this machine itself.
public enum LoopbackHost {
    /// Returns whether the host is `localhost`, an address in 127.0.0.0/8 or `::1`, with or without brackets. Any other
    /// name could resolve to any address, so it does not match.
    public static func matches(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        var v4 = in_addr()
        if inet_pton(AF_INET, bare, &v4) == 1 { return UInt32(bigEndian: v4.s_addr) >> 24 == 127 }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, bare, &v6) == 1 else { return false }
        return withUnsafeBytes(of: v6) { $0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1 }
    }
}
