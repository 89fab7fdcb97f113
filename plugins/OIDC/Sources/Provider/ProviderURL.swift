internal import GatewaySupport

/// Checks of the URLs that the provider's keys are read from. Whoever answers there decides who may log in.
enum ProviderURL {
    /// Returns what is wrong with a URL of the configuration, or nil.
    static func fault(in text: String) -> String? { fault(in: text, allowsPlaintext: true) }

    /// Returns what is wrong with a URL, or nil.
    ///
    /// - Parameter allowsPlaintext: Whether `http` to this machine is permitted. A provider elsewhere may not name such
    ///   a URL, because a request to it would reach a service of this machine.
    static func fault(in text: String, allowsPlaintext: Bool) -> String? {
        let url: RemoteURL
        do { url = try RemoteURL(text) } catch { return error.description }
        switch url.scheme {
        case "https": return nil
        case "http" where allowsPlaintext && url.isLoopback: return nil
        default: return "must begin with https://; http:// is possible only to a loopback address of this machine"
        }
    }

    /// Returns what is wrong with an issuer whose discovery document is read, or nil.
    static func fault(inIssuer issuer: String) -> String? {
        if let fault = fault(in: issuer) {
            return "\(fault); it is the URL of the discovery document, unless jwks is set"
        }
        // OpenID Connect Discovery 1.0, section 3.
        return (try? RemoteURL(issuer))?.hasQuery == true ? "must not have a query" : nil
    }

    /// Returns the URL of the issuer's discovery document (OpenID Connect Discovery 1.0, section 4).
    static func discovery(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Whether the URL is not encrypted.
    static func isPlaintext(_ text: String) -> Bool { text.lowercased().hasPrefix("http:") }
}
