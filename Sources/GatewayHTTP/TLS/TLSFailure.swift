internal import NIOSSL

/// Tells errors of the TLS library from others, for messages.
public enum TLSFailure {
    /// Whether the error is of a handshake or of a connection behind TLS.
    public static func includes(_ error: any Error) -> Bool {
        error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
    }
}
