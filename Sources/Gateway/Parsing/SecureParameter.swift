internal import GatewayCore

/// The parameter `secure` of a send, by which a sender asks for a push without the text.
enum SecureParameter {
    /// Returns whether the sender asks for it. False does not switch it off where the configuration requires it.
    static func read(_ query: QueryParameters) throws(Rejection) -> Bool {
        switch query.value("secure") {
        case nil, "false": return false
        case "true": return true
        case _?:
            throw Rejection(.malformedRequest, "secure is malformed", hint: "secure must be true or false.")
        }
    }
}
