internal import GatewayCore
public import GatewaySupport
internal import NIOSSL

/// A certificate chain, leaf first, and the private key of the leaf.
public struct TLSIdentity: Sendable {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// The time when the first certificate of the chain expires.
    public let end: WallTime
    /// The time when all certificates of the chain are valid: the latest of their start times.
    public let beginning: WallTime

    /// Parses a certificate chain and its key from PEM (RFC 7468).
    ///
    /// - Parameters:
    ///   - certificates: The certificate of the key, followed by its issuers up to an authority.
    ///   - key: An unencrypted key in PKCS #8, or in the older forms of RSA and EC keys.
    /// - Throws: The part that cannot be parsed, or `mismatch` if the key does not belong to the certificate.
    public init(certificates: String, key: String) throws(TLSConfigurationError) {
        do { chain = try NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)) } catch { throw .noCertificate }
        guard !chain.isEmpty else { throw .noCertificate }
        // With an encrypted key, OpenSSL would prompt for a passphrase on the terminal.
        guard !key.contains("ENCRYPTED") else { throw .encryptedKey }
        do { self.key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem) } catch { throw .noKey }
        end = chain.map { WallTime(seconds: Int64($0.notValidAfter)) }.min() ?? WallTime(seconds: 0)
        beginning = chain.map { WallTime(seconds: Int64($0.notValidBefore)) }.max() ?? WallTime(seconds: 0)
        // Creating a context is the only check that the certificate and the key match.
        do {
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(self.key)))
        } catch {
            throw .mismatch
        }
    }
}

/// An error in a certificate or key file.
public enum TLSConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text contains no certificate.
    case noCertificate
    /// The text contains no private key.
    case noKey
    /// The private key is encrypted.
    case encryptedKey
    /// The private key does not belong to the first certificate.
    case mismatch
    /// The text contains no certificate of an authority.
    case noAuthority

    /// The problem for an operator, as a predicate that follows the name of the file.
    public var description: String {
        switch self {
        case .noCertificate: "holds no certificate in PEM"
        case .noKey: "holds no private key in PEM"
        case .encryptedKey: "is encrypted; decrypt it and make it readable only by the gateway"
        case .mismatch: "is not the key of the certificate"
        case .noAuthority: "holds no certificate of an authority in PEM"
        }
    }
}
