internal import CLibcrypto
public import GatewaySupport

/// The authorities that issue the client certificates of a listener, and their revocation lists.
///
/// `@unchecked Sendable`: the store is complete when the initializer returns, and libcrypto locks what verifications
/// change in it.
public final class ClientAuthorities: @unchecked Sendable {
    /// The certificates in PEM, for the list of acceptable authorities in the handshake.
    let pem: String
    /// The trust store: the authorities and the revocation lists.
    let store: OpaquePointer
    /// Whether every certificate of a chain must be on no revocation list of its issuer.
    let checksRevocation: Bool
    /// The time from which a revocation list is out of date; nil without revocation lists.
    public let revocationEnd: WallTime?
    /// The earliest expiry time of the authorities.
    public let end: WallTime
    /// A digest of the files, which differs when one of them changes.
    let fingerprint: SHA256.Digest?

    /// Parses the files. Blocks briefly.
    ///
    /// Each certificate is an anchor of trust by itself, whether it is a root or not. With revocation lists, each
    /// authority must have a current one.
    ///
    /// - Parameters:
    ///   - authorities: The certificates of the authorities in PEM.
    ///   - revocationLists: The revocation lists in PEM (RFC 5280, section 5); nil if revocation is not checked.
    ///   - now: The time at which the lists must be current.
    public init(
        authorities: String, revocationLists: String? = nil, now: WallTime
    ) throws(ClientAuthoritiesError) {
        guard let certificates = PEM.certificates(authorities), !certificates.isEmpty else { throw .noAuthority }
        for certificate in certificates where X509_check_ca(certificate.pointer) == 0 {
            throw .notAnAuthority(certificate.subject)
        }
        let lists = try Self.lists(revocationLists, of: certificates, now: now)
        // Allocation fails only if the process has no memory at all.
        guard let store = X509_STORE_new() else { throw .noAuthority }
        for certificate in certificates { X509_STORE_add_cert(store, certificate.pointer) }
        for list in lists { X509_STORE_add_crl(store, list.pointer) }
        ERR_clear_error()
        pem = authorities
        fingerprint = Array((authorities + "\0" + (revocationLists ?? "")).utf8).withUnsafeBytes(
            SHA256.Digest.init(of:))
        self.store = store
        checksRevocation = revocationLists != nil
        revocationEnd = lists.compactMap(\.end).min()
        end = certificates.compactMap(\.end).min() ?? WallTime(seconds: 0)
    }

    deinit { X509_STORE_free(store) }

    private static func lists(
        _ text: String?, of authorities: [X509Certificate], now: WallTime
    ) throws(ClientAuthoritiesError) -> [X509RevocationList] {
        guard let text else { return [] }
        guard let lists = PEM.revocationLists(text), !lists.isEmpty else { throw .noRevocationList }
        for list in lists {
            guard let beginning = list.beginning, let end = list.end else { throw .endlessRevocationList(list.issuer) }
            if end <= now { throw .outdatedRevocationList(list.issuer, end) }
            if beginning > now { throw .futureRevocationList(list.issuer, beginning) }
        }
        for authority in authorities where !lists.contains(where: { $0.isIssued(by: authority) }) {
            throw .missingRevocationList(authority.subject)
        }
        return lists
    }
}

/// An error in the files of client authorities.
public enum ClientAuthoritiesError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file of the authorities has no certificate, or a malformed one.
    case noAuthority
    /// A certificate belongs to no authority.
    case notAnAuthority(String)
    /// The file of the revocation lists has none, or a malformed one.
    case noRevocationList
    /// An authority has no revocation list with its signature.
    case missingRevocationList(String)
    /// A revocation list has no time of the next update.
    case endlessRevocationList(String)
    /// The time of the next update of a revocation list has passed.
    case outdatedRevocationList(String, WallTime)
    /// A revocation list was issued in the future.
    case futureRevocationList(String, WallTime)

    /// Whether the error is in the file of the revocation lists.
    public var concernsRevocation: Bool {
        switch self {
        case .noAuthority, .notAnAuthority: false
        case .noRevocationList, .missingRevocationList, .endlessRevocationList, .outdatedRevocationList,
            .futureRevocationList:
            true
        }
    }

    /// The problem for an operator, as a predicate that follows the name of the file.
    public var description: String {
        switch self {
        case .noAuthority: "holds no certificate of an authority in PEM"
        case .notAnAuthority(let name): "holds a certificate that is not an authority's: \(name)"
        case .noRevocationList: "holds no certificate revocation list in PEM"
        case .missingRevocationList(let name): "holds no revocation list that is signed by the authority \(name)"
        case .endlessRevocationList(let name): "holds a revocation list without lastUpdate and nextUpdate, of \(name)"
        case .outdatedRevocationList(let name, let end):
            "holds a revocation list that is out of date since \(end), of \(name); publish a new one"
        case .futureRevocationList(let name, let beginning):
            "holds a revocation list that is not valid before \(beginning), of \(name)"
        }
    }
}
