internal import NIOSSL

/// A test that separates errors of the TLS library from others, for error messages.
public enum TLSFailure {
    /// Returns whether the error comes from a TLS handshake or an encrypted connection.
    public static func includes(_ error: any Error) -> Bool {
        error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
    }
}
