#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#endif

/// An address to which a host name and a port resolved.
package struct HostAddress: Sendable {
    private var storage = sockaddr_storage()
    private let length: socklen_t

    /// The maximum number of addresses of a name that are used.
    private static let maximumCount = 16

    /// Copies an address; nil if it is too long.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= MemoryLayout<sockaddr_storage>.size else { return nil }
        length = socklen_t(bytes.count)
        withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: bytes) }
    }

    /// Returns the addresses of a host for connections, in the order of getaddrinfo(3); none if the name is unknown. Blocks
    /// as long as resolv.conf(5) lets it: with its defaults for at most 5 s × 2 attempts for each name server.
    package static func resolve(_ host: String, port: UInt16) -> [HostAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &first) == 0, let first else { return [] }
        defer { freeaddrinfo(first) }
        var addresses: [HostAddress] = []
        var entry: UnsafeMutablePointer<addrinfo>? = first
        while let current = entry?.pointee, addresses.count < maximumCount {
            let bytes = UnsafeRawBufferPointer(start: current.ai_addr, count: Int(current.ai_addrlen))
            if let address = HostAddress(bytes) { addresses.append(address) }
            entry = current.ai_next
        }
        return addresses
    }

    /// The family, such as `AF_INET6`.
    package var family: Int32 { Int32(storage.ss_family) }

    /// The IP address as text, with the zone of a link-local one; nil for another family.
    package var text: String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = withSocketAddress {
            getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        }
        guard status == 0, family == AF_INET || family == AF_INET6 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Calls the closure with the address in the form of bind(2) and connect(2).
    package func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        try withUnsafePointer(to: storage) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, length) }
        }
    }
}
