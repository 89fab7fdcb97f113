/// The result of verifying the client certificate of a request.
public enum ClientCertificateResult: Sendable {
    /// The certificate is valid, and its holder has proved possession of the key.
    case verified(VerifiedCertificate)
    /// The certificate is invalid.
    case invalid(InvalidCredentialReason)
    /// The certificate cannot be verified now, for example because the revocation list is out of date.
    case unverifiable
}
