internal import GatewayCore
public import GatewaySupport

/// An Azure notification hub as the backend.
public struct HubSettings: Sendable {
    /// The namespace and the key.
    public var connection: HubConnectionString
    /// The name of the hub, which fulfils `isName`.
    public var name: String
    /// The version of the REST interface.
    public var apiVersion: String
    /// The payload of each push service.
    public var payloads: HubPayloads
    /// The header fields of sends to Apple devices.
    public var apns: APNsFields

    /// The header fields that the hub passes on to APNs.
    public struct APNsFields: Sendable, Hashable {
        /// `apns-push-type`; devices with iOS 13 and later require it.
        public var pushType = "alert"
        /// `apns-priority`: 10 for immediate delivery, 5 to save power; nil for the default of APNs.
        public var priority: Int?
        /// `apns-collapse-id`, 1–64 visible ASCII characters; nil for none.
        public var collapseID: String?
        /// The time for which APNs tries to deliver; nil for the default of the hub.
        public var lifetime: Duration?

        /// Creates the default fields.
        public init() {}
    }

    /// The version of the REST interface that Microsoft's SDK uses.
    public static let standardAPIVersion = "2020-06"
    /// The supported versions of the REST interface.
    public static let apiVersions = ["2015-01", "2016-07", "2017-04", "2020-06"]

    /// Creates settings.
    public init(
        connection: HubConnectionString, name: String, apiVersion: String = HubSettings.standardAPIVersion,
        payloads: HubPayloads = HubPayloads(), apns: APNsFields = APNsFields()
    ) {
        self.connection = connection
        self.name = name
        self.apiVersion = apiVersion
        self.payloads = payloads
        self.apns = apns
    }

    /// Returns whether the text can be the name of a hub: 1–260 bytes of `A–Z a–z 0–9 . _ -`, but not `.` or `..`.
    public static func isName(_ text: String) -> Bool {
        (1...260).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0.isAlphanumeric || "._-".utf8.contains($0) }
    }

    /// The hub in this process, with a key that is new at each start of the process.
    public static let embedded: HubSettings? = {
        let key = String(hexEncoding: RandomBytes.make(32))
        let text = "Endpoint=sb://localhost/;SharedAccessKeyName=ListenSend;SharedAccessKey=\(key)"
        return (try? HubConnectionString(text)).map { HubSettings(connection: $0, name: "demo") }
    }()

    /// The URI that signatures are valid for, without a scheme: host, port and hub in lower case.
    var resource: String { "\(connection.hostField)/\(name)".lowercased() }
}

/// A connection string of a Notification Hubs namespace:
/// `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…`, in any order.
public struct HubConnectionString: Sendable {
    /// The host of the namespace.
    public let host: String
    /// The port; nil for the default, 443.
    public let port: Int?
    /// The name of the key.
    public let keyName: String
    /// The key, as its text in the connection string.
    public let key: Secret

    /// The error that a text is not a connection string. Never contains the key.
    public enum Malformed: String, Error, Sendable, Hashable {
        case endpoint = "needs Endpoint=sb://NAMESPACE.servicebus.windows.net/"
        case keyName = "needs SharedAccessKeyName=NAME"
        case key = "needs SharedAccessKey=KEY"
        case unknownPart = "has a part other than Endpoint, SharedAccessKeyName, SharedAccessKey and EntityPath"
        case duplicatePart = "has a part twice"
    }

    /// Parses a connection string.
    public init(_ text: String) throws(Malformed) {
        var parts: [String: Substring] = [:]
        for part in text.split(separator: ";") {
            guard let equals = part.firstIndex(of: "=") else { throw .unknownPart }
            let name = part[..<equals].lowercased()
            guard ["endpoint", "sharedaccesskeyname", "sharedaccesskey", "entitypath"].contains(name) else {
                throw .unknownPart
            }
            guard parts.updateValue(part[part.index(after: equals)...], forKey: name) == nil else {
                throw .duplicatePart
            }
        }
        guard let endpoint = parts["endpoint"], endpoint.hasPrefix("sb://"),
            let address = UpstreamAuthority(endpoint.dropFirst(5))
        else { throw .endpoint }
        guard let keyName = parts["sharedaccesskeyname"], (1...256).contains(keyName.utf8.count),
            keyName.utf8.allSatisfy({ $0.isAlphanumeric || "-_.".utf8.contains($0) })
        else { throw .keyName }
        guard let key = parts["sharedaccesskey"], (16...256).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .key }
        host = address.host
        port = address.port
        self.keyName = String(keyName)
        self.key = Secret(key.utf8)
    }

    /// Whether the endpoint is this machine, as that of the embedded hub. Only such an endpoint is used without TLS.
    public var isLocal: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    /// The value of the `Host` field.
    public var hostField: String { (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "") }
}

/// A host and an optional port, with a final slash or without.
private struct UpstreamAuthority {
    let host: String
    let port: Int?

    init?(_ text: Substring) {
        var rest = text
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let colon = rest.lastIndex(of: ":") {
            let digits = rest[rest.index(after: colon)...]
            guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isASCIIDigit), let number = Int(digits),
                (1...65_535).contains(number)
            else { return nil }
            port = number
            rest = rest[..<colon]
        } else {
            port = nil
        }
        guard (1...253).contains(rest.utf8.count),
            rest.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        host = rest.lowercased()
    }
}
