internal import Foundation
internal import NIOCore

/// Checks of the service's URLs. One receives passwords, and the other reports which accounts have ended.
enum ServiceURL {
    /// Returns what is wrong with the URL that receives passwords, or nil.
    static func fault(in text: String, allowsPlaintext: Bool) -> String? {
        fault(
            in: text, allowsPlaintext: allowsPlaintext,
            plaintextRisk: "sends passwords to another machine in plain text")
    }

    /// Returns what is wrong with the URL that reports the status of accounts, or nil.
    static func statusFault(in text: String, allowsPlaintext: Bool) -> String? {
        let risk = "lets everybody on the path to another machine end accounts"
        if let fault = fault(in: text, allowsPlaintext: allowsPlaintext, plaintextRisk: risk) { return fault }
        let names = URLComponents(string: text)?.queryItems?.map(\.name) ?? []
        return names.contains(StatusQuery.parameter)
            ? "must not have the parameter \(StatusQuery.parameter), which the gateway adds" : nil
    }

    private static func fault(in text: String, allowsPlaintext: Bool, plaintextRisk: String) -> String? {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let scheme = url.scheme?.lowercased()
        else { return "is not a URL" }
        guard url.user == nil, url.password == nil else { return "must not contain a user or password" }
        guard url.fragment == nil else { return "must not have a fragment" }
        guard let host = url.host, !host.isEmpty else { return "has no host" }
        if let port = url.port, !(1...65_535).contains(port) { return "has an invalid port" }
        switch scheme {
        case "https", "http+unix": return nil
        case "http" where allowsPlaintext || isLoopback(host): return nil
        case "http":
            return "\(plaintextRisk); use https, or set allow-plaintext: true"
        default: return "must begin with https://, http:// or http+unix://"
        }
    }

    /// Whether a connection to the host stays on this machine.
    static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        // Only literal addresses count, because a name could resolve to any address.
        guard let address = try? SocketAddress(ipAddress: bare, port: 0) else { return false }
        switch address {
        case .v4(let address): return UInt32(bigEndian: address.address.sin_addr.s_addr) >> 24 == 127
        case .v6(let address):
            return withUnsafeBytes(of: address.address.sin6_addr) {
                $0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1
            }
        case .unixDomainSocket: return false
        }
    }
}
