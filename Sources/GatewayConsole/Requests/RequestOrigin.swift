internal import GatewayConfiguration
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird

/// The checks that a request was made for this console, and a change by a page of it.
struct RequestOriginCheck: Sendable {
    /// The origin in the configuration; nil for the listener's own.
    let configured: ConsoleOrigin?
    /// Whether the listener has TLS.
    let isSecure: Bool

    /// Whether browsers reach the console by https, so that its cookies may be limited to it.
    var usesHTTPS: Bool { configured?.isSecure ?? isSecure }

    /// Returns whether `Host` names this console. Without TLS, a page of another site could otherwise make its own name
    /// resolve to this machine and read the console as its own origin (DNS rebinding).
    func accepts(host: String?) -> Bool {
        guard let host, let name = ConsoleOrigin.host(of: host.lowercased()) else { return false }
        if let configured, host.lowercased() == configured.authority { return true }
        return isSecure || LoopbackHost.matches(name)
    }

    /// Returns whether a change was requested by a page of this console: `Sec-Fetch-Site` (W3C Fetch Metadata), and
    /// `Origin` (RFC 6454) if the browser sends it.
    func isSameOrigin(_ request: Request) -> Bool {
        let site = request.headers[.secFetchSite]
        if let site, site != "same-origin" { return false }
        guard let origin = request.headers[.origin] else { return site != nil }
        // A proxy may request the listener by its own address.
        if let configured, origin == configured.description { return true }
        let host = request.head.authority ?? ""
        if let configured, host.lowercased() == configured.authority { return false }
        return origin == (isSecure ? "https://" : "http://") + host
    }

    /// Returns the origin of this console for URLs that another host redirects to; nil if the configuration does not
    /// state it and the request was not made on this machine.
    func ownOrigin(of request: Request) -> String? {
        if let configured { return configured.description }
        // The client chooses `Host`, so it counts only where it can name no other machine.
        guard let host = request.head.authority?.lowercased(),
            ConsoleOrigin.host(of: host).map(LoopbackHost.matches) == true
        else { return nil }
        return ConsoleOrigin((isSecure ? "https://" : "http://") + host)?.description
    }

    /// Returns the path to show after a login; the overview if the text is not a plain path of this console.
    static func path(_ text: String?) -> String {
        guard let text, text.utf8.count <= 1024, text.utf8.first == UInt8(ascii: "/"),
            text.utf8.dropFirst().first != UInt8(ascii: "/"),
            text.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "/-._~%?=&+".utf8.contains(byte)
                }
            })
        else { return "/" }
        return text
    }
}

extension HTTPField.Name {
    /// The relation of the requesting page to the requested one (W3C Fetch Metadata).
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
