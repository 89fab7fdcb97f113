internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The credential of a call: the parsed `Authorization` field with Basic (RFC 7617) or Bearer (RFC 6750), or a client
/// certificate.
struct PresentedCredential {
    let credential: Credential
    /// The presented name, unchanged, for the log; nil for a token or a certificate.
    let name: PresentedName?

    /// Returns the login name of a new session of the user; nil if the credential cannot begin one. A certificate has no
    /// login name, so the user's own name takes its place.
    func login(of user: UserName, by names: NameRules) -> LoginName? {
        switch credential {
        case .password(let login, _): login
        case .certificate: names.login(of: user)
        case .bearer: nil
        }
    }

    /// The maximum length of a password in bytes. A longer one is rejected before it is hashed.
    static let maximumPasswordLength = 1024

    /// Wraps a verified certificate.
    init(_ certificate: VerifiedCertificate) { self.init(.certificate(certificate), name: nil) }

    init(_ field: ByteBuffer, names: NameRules) throws(Rejection) {
        let bytes = field.readableBytesUInt8Span
        var end = 0
        while end < bytes.count, bytes[end] != 0x20 { end += 1 }
        let scheme = bytes.extracting(..<end)
        while end < bytes.count, bytes[end] == 0x20 { end += 1 }
        let rest = bytes.extracting(end...)
        if Self.equal(scheme, "basic") {
            self = try Self.basic(rest, names)
        } else if Self.equal(scheme, "bearer") {
            guard !rest.isEmpty, rest.withUnsafeBufferPointer({ Self.areTokenBytes($0) }) else {
                throw Rejection(.credentialsRejected, "the bearer token is malformed")
            }
            self.init(.bearer(token: Secret(rest)), name: nil)
        } else {
            throw Rejection(.credentialsRejected, "the scheme is neither Basic nor Bearer")
        }
    }

    /// Returns whether the bytes are the name of the scheme, compared without case (RFC 9110, section 11.1).
    private static func equal(_ bytes: Span<UInt8>, _ scheme: StaticString) -> Bool {
        guard bytes.count == scheme.utf8CodeUnitCount else { return false }
        return scheme.withUTF8Buffer { scheme in bytes.indices.allSatisfy { bytes[$0].asciiLowercased == scheme[$0] } }
    }

    private init(_ credential: Credential, name: PresentedName?) {
        self.credential = credential
        self.name = name
    }

    private static func basic(_ encoded: Span<UInt8>, _ names: NameRules) throws(Rejection) -> PresentedCredential {
        guard let pair = Base64.decode(encoded, .standard), let colon = pair.firstIndex(of: UInt8(ascii: ":")),
            let user = String(validating: pair[..<colon], as: UTF8.self)
        else { throw Rejection(.credentialsRejected, "the Basic credential is malformed") }
        let password = pair[(colon + 1)...]
        return try PresentedCredential(user: user, password: password, names)
    }

    /// Wraps a user name and a password.
    init(user: String, password: some Collection<UInt8>, _ names: NameRules) throws(Rejection) {
        // A C library reads a password only up to its first NUL, so a password with a NUL is rejected.
        guard !user.isEmpty, !user.utf8.contains(0), (1...Self.maximumPasswordLength).contains(password.count),
            !password.contains(0)
        else { throw Rejection(.credentialsRejected, "user or password is empty, too long, or contains NUL") }
        let name = PresentedName(user)
        self.init(.password(user: names.login(name), password: Secret(password)), name: name)
    }

    /// Returns whether all bytes are in the alphabet of `b64token` (RFC 6750, section 2.1). Written without branches
    /// and tables so that the compiler can vectorize it; tokens are long.
    private static func areTokenBytes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var bad: UInt8 = 0
        for byte in bytes {
            let letter: UInt8 = (byte | 0x20) &- UInt8(ascii: "a") < 26 ? 1 : 0
            // All characters from `+` to `9` except the comma.
            let signOrDigit: UInt8 = byte &- UInt8(ascii: "+") < 15 ? 1 : 0
            let comma: UInt8 = byte == UInt8(ascii: ",") ? 1 : 0
            let isOther = byte == UInt8(ascii: "=") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
            bad |= (letter | (signOrDigit ^ comma) | (isOther ? 1 : 0)) ^ 1
        }
        return bad == 0
    }
}
