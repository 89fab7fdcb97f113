internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The client certificates that trusted proxies forward in `Client-Cert` and `Client-Cert-Chain` (RFC 9440).
///
/// Loop-bound. The proxy checks that the client possesses the key, so it must remove both fields from the requests of
/// its clients. Results are kept by a digest of the fields, so that the requests of one client are verified once.
final class ForwardedCertificates {
    /// The maximum number of results that are kept.
    static let capacity = 1024

    private struct Key: OwnedKey {
        let digest: SHA256.Digest
    }

    private let verifier: ClientCertificateVerifier
    private var known = BoundedMap<Key, PresentedCertificate>(capacity: ForwardedCertificates.capacity)

    init(_ verifier: ClientCertificateVerifier) { self.verifier = verifier }

    /// The number of results that are kept.
    var count: Int { known.count }

    /// Returns the result for the fields of a request; nil if they contain no certificate. A malformed or repeated
    /// `Client-Cert` is an invalid certificate.
    func result(of fields: ForwardingFields, in head: ByteBuffer, now: WallTime) -> ClientCertificateResult? {
        guard let range = fields.certificates.first else { return nil }
        guard fields.certificates.count == 1 else { return .invalid(.malformed) }
        let field = ForwardingFields.bytes(range, in: head)
        let lines = fields.intermediates.map { ForwardingFields.bytes($0, in: head) }
        // No value contains a line feed, so different fields have different texts.
        var text = Array(field)
        for line in lines {
            text.append(UInt8(ascii: "\n"))
            text.append(contentsOf: line)
        }
        guard let key = text.withUnsafeBytes(SHA256.Digest.init(of:)).map(Key.init) else { return .unverifiable }
        if let certificate = known.refresh(key) { return certificate.result(now: now) }
        guard let chain = Self.chain(field, lines) else { return .invalid(.malformed) }
        let certificate = PresentedCertificate(chain, verifier: verifier, now: now)
        known.insert(certificate, for: key)
        return certificate.result(now: now)
    }

    /// Parses the fields to the DER encodings of a chain. Returns nil if one is malformed or too long.
    static func chain(_ field: ByteBufferView, _ lines: [ByteBufferView]) -> [[UInt8]]? {
        guard let leaf = byteSequence(field) else { return nil }
        var chain = [leaf]
        for line in lines {
            for member in line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard chain.count < ClientAuthorities.maximumPresented, let certificate = byteSequence(member.trimmed)
                else { return nil }
                chain.append(certificate)
            }
        }
        return chain
    }

    /// Decodes a byte sequence of a structured field (RFC 9651, section 3.3.5) without parameters: Base64 between
    /// colons.
    private static func byteSequence(_ value: ByteBufferView) -> [UInt8]? {
        guard value.count > 2, value.first == .colon, value.last == .colon else { return nil }
        return Base64.decode(Array(value.dropFirst().dropLast()).span, .standard)
    }
}

extension ByteBufferView {
    /// The bytes without spaces and tabs around them.
    fileprivate var trimmed: ByteBufferView {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}

@available(*, unavailable)
extension ForwardedCertificates: Sendable {}
