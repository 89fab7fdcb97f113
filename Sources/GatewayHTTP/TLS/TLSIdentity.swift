public import GatewayCore
internal import NIOSSL

/// What one side of TLS proves itself by: a chain of certificates, its own first, and the private key of that one.
public struct TLSIdentity: Sendable {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// When the first certificate of the chain ends that does.
    public let end: WallTime
    /// When the last certificate of the chain begins that does.
    public let beginning: WallTime

    /// The identity of two texts in PEM (RFC 7468), which belong together.
    ///
    /// - Parameters:
    ///   - certificates: the certificate that the key is for, then those that lead from it to an authority.
    ///   - key: PKCS #8, or the older forms for RSA and EC keys; not encrypted.
    /// - Throws: what of it cannot be read, or that the two do not belong together.
    public init(certificates: String, key: String) throws(TLSConfigurationError) {
        do { chain = try NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)) } catch { throw .noCertificate }
        guard !chain.isEmpty else { throw .noCertificate }
        // Asked for a passphrase, OpenSSL's own code would look for a terminal.
        guard !key.contains("ENCRYPTED") else { throw .encryptedKey }
        do { self.key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem) } catch { throw .noKey }
        end = chain.map { WallTime(seconds: Int64($0.notValidAfter)) }.min() ?? WallTime(seconds: 0)
        beginning = chain.map { WallTime(seconds: Int64($0.notValidBefore)) }.max() ?? WallTime(seconds: 0)
        // A context of the two is what finds out whether they belong together.
        do {
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(self.key)))
        } catch {
            throw .mismatch
        }
    }
}

/// Why certificates or keys are of no use.
public enum TLSConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no certificate in the text.
    case noCertificate
    /// There is no private key in the text.
    case noKey
    /// The key is encrypted.
    case encryptedKey
    /// The key is not that of the first certificate.
    case mismatch
    /// There is no certificate of an authority in the text.
    case noAuthority

    /// What is wrong, for an operator.
    public var description: String {
        switch self {
        case .noCertificate: "holds no certificate in PEM"
        case .noKey: "holds no private key in PEM"
        case .encryptedKey: "is encrypted; decrypt it, and keep it readable by the gateway alone"
        case .mismatch: "is not the key of the certificate"
        case .noAuthority: "holds no certificate of an authority in PEM"
        }
    }
}
