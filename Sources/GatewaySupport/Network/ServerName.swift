internal import CLibcrypto
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The name that a server's certificate must be valid for: a DNS name or an IP address (RFC 9525).
///
/// A DNS name matches DNS names among the certificate's subject alternative names only, an IP address only IP addresses
/// there. Neither the common name counts nor the address that a DNS name resolved to: who controls the resolution chooses
/// that address, and may have a certificate for it. A wildcard stands for the whole left-most label.
public struct ServerName: Sendable, Hashable, CustomStringConvertible {
    private enum Reference: Hashable {
        case name(String)
        /// The bytes of an address: 4 or 16.
        case address([UInt8])
    }

    /// The error that a server's certificate is not valid for the name.
    public struct Mismatch: Error, Sendable, Hashable, CustomStringConvertible {
        let name: ServerName

        /// The reason as a sentence without a full stop.
        public var description: String {
            let kind = if case .name = name.reference { "DNS names" } else { "IP addresses" }
            return "the server's certificate is for another name: \(name) is not among the \(kind) of its subject "
                + "alternative names"
        }
    }

    private let reference: Reference
    /// The name without the brackets of an IPv6 address and without a dot at its end.
    public let description: String

    /// Creates the name of a host as a URL or a setting writes it. A text that is neither a DNS name nor an address matches
    /// no certificate.
    public init(_ host: String) {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 2
        let bare = isBracketed ? String(host.dropFirst().dropLast()) : host
        if let address = Self.address(bare) {
            reference = .address(address)
            description = bare
        } else {
            // The name of the DNS's root label is empty, and certificates never write it.
            description = bare.hasSuffix(".") ? String(bare.dropLast()) : bare
            reference = .name(description)
        }
    }

    /// The name that a client sends in the TLS extension `server_name`, which has none for addresses (RFC 6066, section 3).
    public var indication: String? {
        if case .name = reference { description } else { nil }
    }

    /// Verifies that a certificate is valid for the name. The caller has verified its chain.
    ///
    /// - Parameter certificate: The DER encoding of the server's certificate.
    public func verify(_ certificate: some Collection<UInt8>) throws(Mismatch) {
        guard matches(Array(certificate)) else { throw Mismatch(name: self) }
    }

    private func matches(_ encoded: [UInt8]) -> Bool {
        let certificate = encoded.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return d2i_X509(nil, &cursor, bytes.count)
        }
        guard let certificate else {
            ERR_clear_error()
            return false
        }
        defer { X509_free(certificate) }
        switch reference {
        case .address(let bytes): return X509_check_ip(certificate, bytes, bytes.count, 0) == 1
        case .name(let name):
            // libcrypto would match a name that begins with a dot with every name below it, and ignore a NUL at the end.
            guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(0) else { return false }
            let rules = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
            return X509_check_host(certificate, name, name.utf8.count, UInt32(rules), nil) == 1
        }
    }

    private static func address(_ text: String) -> [UInt8]? {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return withUnsafeBytes(of: v4, Array.init) }
        var v6 = in6_addr()
        return inet_pton(AF_INET6, text, &v6) == 1 ? withUnsafeBytes(of: v6, Array.init) : nil
    }
}
