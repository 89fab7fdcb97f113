internal import CLibcrypto
internal import GatewaySupport

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// An X.509 certificate of libcrypto.
final class X509Certificate {
    /// The owned object.
    let pointer: OpaquePointer

    /// Takes ownership of an object.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    /// Parses a DER encoding (X.690). Returns nil if it is malformed or if bytes follow it.
    convenience init?(der: [UInt8]) {
        let pointer = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            guard let start = bytes.baseAddress else { return nil }
            var cursor: UnsafePointer<UInt8>? = start
            guard let parsed = d2i_X509(nil, &cursor, bytes.count) else { return nil }
            guard cursor == start + bytes.count else {
                X509_free(parsed)
                return nil
            }
            return parsed
        }
        ERR_clear_error()
        guard let pointer else { return nil }
        self.init(owning: pointer)
    }

    /// The time from which the certificate has expired.
    var end: WallTime? { WallTime(X509_get0_notAfter(pointer)) }

    /// The subject, for messages to operators.
    var subject: String { text(ofName: X509_get_subject_name(pointer)) }
}

/// A certificate revocation list of libcrypto.
final class X509RevocationList {
    let pointer: OpaquePointer

    /// Takes ownership of an object.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_CRL_free(pointer) }

    /// The time of issue.
    var beginning: WallTime? { WallTime(X509_CRL_get0_lastUpdate(pointer)) }
    /// The time by which the authority issues the next list; nil if the list does not say.
    var end: WallTime? { WallTime(X509_CRL_get0_nextUpdate(pointer)) }
    /// The issuer, for messages to operators.
    var issuer: String { text(ofName: X509_CRL_get_issuer(pointer)) }

    /// Returns whether the certificate issued and signed the list.
    func isIssued(by authority: X509Certificate) -> Bool {
        guard X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(authority.pointer)) == 0,
            let key = X509_get0_pubkey(authority.pointer)
        else { return false }
        defer { ERR_clear_error() }
        return X509_CRL_verify(pointer, key) == 1
    }
}

/// The parser of PEM files (RFC 7468) with several objects of one kind.
enum PEM {
    /// Returns all certificates of the text. Returns nil if one is malformed.
    static func certificates(_ text: String) -> [X509Certificate]? {
        objects(text) { PEM_read_bio_X509($0, nil, noPassphrase, nil) }?.map(X509Certificate.init(owning:))
    }

    /// Returns all revocation lists of the text. Returns nil if one is malformed.
    static func revocationLists(_ text: String) -> [X509RevocationList]? {
        objects(text) { PEM_read_bio_X509_CRL($0, nil, noPassphrase, nil) }?.map(X509RevocationList.init(owning:))
    }

    // Without this callback, libcrypto would prompt for a passphrase on the terminal.
    private static let noPassphrase:
        @convention(c) (
            UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?
        ) -> CInt = { _, _, _, _ in -1 }

    private static func objects(_ text: String, _ next: (OpaquePointer?) -> OpaquePointer?) -> [OpaquePointer]? {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBytes { bytes -> [OpaquePointer]? in
            guard let input = BIO_new_mem_buf(bytes.baseAddress, CInt(clamping: bytes.count)) else { return nil }
            defer { BIO_free(input) }
            ERR_clear_error()
            defer { ERR_clear_error() }
            var objects: [OpaquePointer] = []
            while let object = next(input) { objects.append(object) }
            // At the end of the text there is no further start line. Any other error is a malformed object.
            let error = ERR_peek_last_error()
            let reason = CInt(truncatingIfNeeded: error & UInt(ERR_REASON_MASK))
            return reason == PEM_R_NO_START_LINE || bytes.isEmpty ? objects : nil
        }
    }
}

extension WallTime {
    /// Converts a time of X.509. Returns nil if it is absent or malformed.
    fileprivate init?(_ time: UnsafePointer<ASN1_TIME>?) {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        self.init(seconds: Int64(timegm(&parts)))
    }
}

/// Formats a distinguished name like RFC 2253, at most 256 bytes.
private func text(ofName name: OpaquePointer?) -> String {
    guard let output = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(output) }
    X509_NAME_print_ex(output, name, 0, notify_gateway_rfc2253_flags)
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = BIO_read(output, &bytes, CInt(bytes.count))
    return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
}
