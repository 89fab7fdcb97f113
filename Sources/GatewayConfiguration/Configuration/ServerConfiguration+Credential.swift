internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads the credential that identifies the user to the backend: the word `mirror`, a mapping with
    /// `shared-password`, or a mapping with the names of two header fields and a secret.
    static func readCredential(_ reader: ConfigurationReader) -> UpstreamCredential {
        guard let node = reader.node("credential") else { return .mirror }
        if case .scalar(let word, _) = node.shape {
            if word != "mirror" {
                reader.report(
                    "credential",
                    "\"\(word)\" is not one of: mirror, a mapping with shared-password, a mapping with user-header, "
                        + "secret-header and secret")
            }
            return .mirror
        }
        let inner = reader.reader(of: node, under: "credential")
        defer { inner.finish() }
        if inner.has("shared-password") {
            // Secret.
            return inner.required("shared-password").map { .sharedPassword(Secret($0.utf8)) } ?? .mirror
        }
        // The field that receives the user's name.
        let user = fieldName("user-header", inner)
        // The field that receives the secret.
        let secretField = fieldName("secret-header", inner)
        if let user, let secretField, letters(of: user) == letters(of: secretField) {
            inner.report("secret-header", "\"\(secretField)\" is already the field of the user name")
        }
        // Secret.
        let secret = inner.required("secret")
        if let secret, !secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            inner.report("secret", "must be visible ASCII, because it is sent in a header field")
        }
        guard let user, let secretField, let secret else { return .mirror }
        return .header(userField: user, secretField: secretField, secret: Secret(secret.utf8))
    }

    /// The fields that frame a request, belong to the connection (RFC 9110, section 7.6.1), or are set by the gateway
    /// itself.
    static let reservedFields: Set<String> = [
        "host", "content-length", "transfer-encoding", "te", "trailer", "expect",
        "connection", "proxy-connection", "keep-alive", "upgrade", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization",
        "authorization", "accept", "content-type", "content-encoding", "x-request-id", "traceparent", "tracestate",
    ]

    private static let reservedLetters = Set(reservedFields.map(letters))

    private static func fieldName(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let field = reader.required(name) else { return nil }
        func isFieldByte(_ byte: UInt8) -> Bool {
            switch byte | 0x20 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
        }
        guard field.utf8.count <= 64, field.utf8.allSatisfy(isFieldByte), !letters(of: field).isEmpty,
            !reservedLetters.contains(letters(of: field))
        else {
            reader.report(name, "\"\(field)\" is not a usable header field name")
            return nil
        }
        return field
    }

    /// Returns a field's name as a lenient parser could read it: only its letters and digits.
    private static func letters(of field: String) -> String { field.lowercased().filter { $0 != "-" } }
}
