internal import Foundation
public import GatewaySupport

/// The access policies of the hub's REST interface: keys and their rights.
public struct HubAccess: Sendable {
    /// A right of a key.
    public enum Right: String, Sendable, CaseIterable {
        /// Registrations of devices.
        case listen = "Listen"
        /// Notifications.
        case send = "Send"
        /// Everything, with lists of all registrations.
        case manage = "Manage"
    }

    /// A key with a name.
    public struct Policy: Sendable {
        /// The name, which signatures state.
        public let name: String
        /// The key, as its text in connection strings.
        public let key: Secret
        /// The rights.
        public let rights: Set<Right>

        /// Creates a policy.
        public init(name: String, key: Secret, rights: Set<Right>) {
            self.name = name
            self.key = key
            self.rights = rights
        }
    }

    /// The name of the hub.
    public let hub: String
    /// The policies.
    public let policies: [Policy]

    /// Creates the access to one hub.
    public init(hub: String, policies: [Policy]) {
        self.hub = hub
        self.policies = policies
    }
}

/// The reason why a request is not authorized.
enum HubAccessFailure: Error, Equatable {
    /// The signature is missing, malformed, wrong or expired, or the key is unknown: 401.
    case unauthorized(String)
    /// The key lacks the right: 403.
    case forbidden
}

extension HubAccess {
    /// Checks the signature of a request (Azure: shared access signature).
    ///
    /// The signed text is the resource as the signature states it, a line feed, and the expiry. The resource is a URI
    /// with any scheme, the request's host, and a prefix of the request's path.
    ///
    /// - Parameter right: The right that the request needs. `manage` includes the others.
    func authorize(_ request: BackendRequest, for right: Right, now: Date) throws(HubAccessFailure) {
        let scheme = "SharedAccessSignature "
        guard let authorization = request.authorization, authorization.hasPrefix(scheme) else {
            throw .unauthorized("MissingToken")
        }
        var parts: [String: Substring] = [:]
        for part in authorization.dropFirst(scheme.count).split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, parts.updateValue(pair[1], forKey: String(pair[0])) == nil else {
                throw .unauthorized("MalformedToken")
            }
        }
        guard let resource = parts["sr"], let signature = parts["sig"], let expiry = parts["se"],
            let name = parts["skn"], parts.count == 4, let end = Int64(expiry)
        else { throw .unauthorized("MalformedToken") }
        let keyName = FormFields.decoded(name, plusIsSpace: false)
        guard let policy = policies.first(where: { $0.name == keyName }) else { throw .unauthorized("InvalidToken") }
        guard let hmac = HMAC(.sha256, key: policy.key), let tag = hmac.tag(over: Array("\(resource)\n\(expiry)".utf8))
        else { throw .unauthorized("InvalidToken") }
        let stated = Array(FormFields.decoded(signature, plusIsSpace: false).utf8)
        guard ConstantTime.equal(Base64.encode(tag, .standard), stated) else {
            throw .unauthorized("InvalidSignature")
        }
        guard end > Int64(now.timeIntervalSince1970) else { throw .unauthorized("ExpiredToken") }
        guard Self.covers(FormFields.decoded(resource, plusIsSpace: false), request) else {
            throw .unauthorized("InvalidAudience")
        }
        guard policy.rights.contains(right) || policy.rights.contains(.manage) else { throw .forbidden }
    }

    private static func covers(_ resource: String, _ request: BackendRequest) -> Bool {
        guard let separator = resource.firstRange(of: "://") else { return false }
        let signed = resource[separator.upperBound...].lowercased()
        let path = request.target.prefix { $0 != "?" }
        let asked = "\(request.host)\(path)".lowercased()
        let whole = signed.hasSuffix("/") ? String(signed.dropLast()) : signed
        return asked == whole || asked.hasPrefix(whole + "/")
    }
}
