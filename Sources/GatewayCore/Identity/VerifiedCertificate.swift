/// The names in a client certificate (RFC 5280) whose chain, validity and revocation status the listener has verified.
///
/// A class, so that the requests of a connection share one reference. The names are in the order of the certificate. A
/// name that is not text, or contains a control character such as NUL, is an empty string: it is counted but matches
/// nothing.
public final class VerifiedCertificate: Sendable {
    /// The `rfc822Name` entries of the subject alternative name.
    public let emailAddresses: [String]
    /// The `uniformResourceIdentifier` entries of the subject alternative name.
    public let uris: [String]
    /// The `dNSName` entries of the subject alternative name.
    public let dnsNames: [String]
    /// The common names (CN) of the subject.
    public let commonNames: [String]
    /// The organizational units (OU) of the subject.
    public let organizationalUnits: [String]

    /// Creates a certificate. Called by the listener after the verification, and by tests.
    public init(
        emailAddresses: [String] = [], uris: [String] = [], dnsNames: [String] = [], commonNames: [String] = [],
        organizationalUnits: [String] = []
    ) {
        self.emailAddresses = emailAddresses
        self.uris = uris
        self.dnsNames = dnsNames
        self.commonNames = commonNames
        self.organizationalUnits = organizationalUnits
    }
}
