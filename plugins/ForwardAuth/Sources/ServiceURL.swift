internal import Foundation
internal import GatewaySupport

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
        let url: RemoteURL
        do { url = try RemoteURL(text) } catch { return error.description }
        switch url.scheme {
        case "https", "http+unix": return nil
        case "http" where allowsPlaintext || url.isLoopback: return nil
        case "http":
            return "\(plaintextRisk); use https, or set allow-plaintext: true"
        default: return "must begin with https://, http:// or http+unix://"
        }
    }
}
