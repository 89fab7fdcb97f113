internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

extension ServerConfiguration {
    /// The domains of Azure's clouds in which namespaces are. The key of a connection string goes to no other host.
    private static let hubDomains = [
        ".servicebus.windows.net", ".servicebus.usgovcloudapi.net", ".servicebus.chinacloudapi.cn",
    ]

    /// Reads `hub` of the backend: the notification hub that is used without a notify-users backend; nil without one.
    static func readHub(_ backend: ConfigurationReader) -> HubSettings? {
        for name in ["url", "credential", "health"] where backend.has("hub") && backend.has(name) {
            _ = backend.node(name)
            backend.report(name, "applies only to a notify-users backend; remove it or \"hub\"")
        }
        if isEmbeddedHub(backend) { return .embedded }
        guard let reader = backend.mapping("hub") else { return nil }
        defer { reader.finish() }
        // Secret. The connection string of an access policy with the rights Listen and Send.
        let connection = reader.required("connection-string").flatMap { readConnectionString($0, reader) }
        // The name of the hub in its namespace.
        let name = reader.required("name")
        if let name, !HubSettings.isName(name) {
            reader.report("name", "\"\(name)\" is not the name of a hub; use letters, digits, . _ and -")
        }
        // The version of the REST interface; default: 2020-06.
        let version = reader.string("api-version") ?? HubSettings.standardAPIVersion
        if !HubSettings.apiVersions.contains(version) {
            reader.report(
                "api-version",
                "\"\(version)\" is not one of: \(HubSettings.apiVersions.joined(separator: ", "))")
        }
        // The payload templates, by push service.
        let payloads = readPayloads(reader.mapping("payloads"))
        // The header fields of sends to Apple devices.
        let apns = readAPNsFields(reader.mapping("apns"))
        guard let connection, let name else { return nil }
        return HubSettings(connection: connection, name: name, apiVersion: version, payloads: payloads, apns: apns)
    }

    /// Returns the address of the hub.
    static func hubAddress(_ hub: HubSettings?, _ backend: ConfigurationReader) -> BackendAddress? {
        if isEmbeddedHub(backend) { return .embedded }
        return hub.map { .remote($0.connection.address(isSecure: backend.has("tls"))) }
    }

    /// Returns whether `hub` is the word `embedded`: the hub in this program, for development.
    static func isEmbeddedHub(_ backend: ConfigurationReader) -> Bool {
        if case .scalar("embedded", _)? = backend.node("hub")?.shape { true } else { false }
    }

    private static func readConnectionString(_ text: String, _ reader: ConfigurationReader) -> HubConnectionString? {
        let connection: HubConnectionString
        do throws(HubConnectionString.Malformed) {
            connection = try HubConnectionString(text)
        } catch {
            reader.report("connection-string", error.rawValue)
            return nil
        }
        guard connection.isLocal || hubDomains.contains(where: connection.host.hasSuffix) else {
            reader.report(
                "connection-string", "names a host outside of Azure; the key would go to it: \(connection.host)")
            return nil
        }
        if connection.keyName.lowercased().contains("fullshared") {
            reader.report(
                "connection-string",
                "has the key of a policy with full access; use a policy with the rights Listen and Send",
                severity: .warning)
        }
        return connection
    }

    private static func readPayloads(_ reader: ConfigurationReader?) -> HubPayloads {
        var payloads = HubPayloads()
        guard let reader else { return payloads }
        defer { reader.finish() }
        for service in [PushService.apns, .wns, .fcm] {
            // A JSON object, for wns an XML document, with {message} and, if wanted, {sender}.
            guard let template = reader.string(service.rawValue) else { continue }
            do throws(HubPayloads.Malformed) { try payloads.set(template, for: service) } catch {
                reader.report(service.rawValue, error.detail)
            }
        }
        return payloads
    }

    private static func readAPNsFields(_ reader: ConfigurationReader?) -> HubSettings.APNsFields {
        var fields = HubSettings.APNsFields()
        guard let reader else { return fields }
        defer { reader.finish() }
        // The type of the notification; default: alert.
        if let type = reader.word("push-type", of: APNsPushType.self) { fields.pushType = type.rawValue }
        // 10 for immediate delivery, 5 to save the device's power, 1 to never wake it; default: that of APNs.
        fields.priority = reader.integer("priority", in: 1...10)
        if let priority = fields.priority, ![1, 5, 10].contains(priority) {
            reader.report("priority", "must be 1, 5 or 10")
        }
        // Later notifications with the same id replace earlier ones on the device; default: none.
        fields.collapseID = reader.string("collapse-id")
        if let id = fields.collapseID,
            !(1...64).contains(id.utf8.count) || !id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        {
            reader.report("collapse-id", "must be 1 to 64 visible ASCII characters")
        }
        // The time for which APNs tries to deliver; default: that of the hub.
        fields.lifetime = reader.duration("lifetime", in: .seconds(1) ... .seconds(30 * 86_400))
        return fields
    }

    private enum APNsPushType: String, CaseIterable {
        case alert
        case background
    }
}

extension HubConnectionString {
    /// Returns the address of the endpoint. TLS may be left out for this machine only.
    func address(isSecure: Bool) -> UpstreamAddress {
        isSecure || !isLocal ? .tls(host: host, port: port ?? 443) : .tcp(host: host, port: port ?? 80)
    }
}
