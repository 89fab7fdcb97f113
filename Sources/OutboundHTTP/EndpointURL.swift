internal import GatewaySupport

/// The URL of a receiver in a configuration: https, or http to a loopback address of this machine.
public struct EndpointURL: Sendable, Hashable {
    /// The URL as the configuration writes it.
    public let text: String

    /// The error that a text is not a usable URL.
    public struct Malformed: Error {
        /// The reason, to follow the name of the key.
        public let reason: String
    }

    /// Parses a URL.
    public init(_ text: String) throws(Malformed) {
        let url: RemoteURL
        do { url = try RemoteURL(text) } catch { throw Malformed(reason: error.description) }
        switch url.scheme {
        case "https": break
        case "http" where url.isLoopback: break
        default:
            throw Malformed(
                reason: "must begin with https://; http:// is possible only to a loopback address of this machine")
        }
        self.text = text
    }
}
