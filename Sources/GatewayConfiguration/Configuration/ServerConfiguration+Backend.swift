internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads one backend: its addresses, protocol and limits. Returns nil if it is invalid.
    static func readBackend(_ reader: ConfigurationReader) -> BackendSection? {
        defer { reader.finish() }
        // A notification hub in place of a notify-users backend.
        let hub = readHub(reader)
        let (address, others) = reader.has("hub") ? (hubAddress(hub, reader), []) : readAddresses(reader)
        // The verification of an https backend, and the client certificate of the gateway.
        let tls = readBackendTLS(reader, isSecure: address?.isSecure)
        let check = reader.has("hub") ? nil : readCheck(reader.mapping("health"))
        // The time after which a connection takes no further request, so that a changed DNS record has effect; default:
        // 10min.
        let age = reader.duration("connection-age", in: .seconds(1) ... .seconds(86_400)) ?? .seconds(600)
        // The protocol profile of clients and backend; default: classic.
        var profile = readProfile(reader)
        if reader.has("hub") { readHubProfile(&profile, reader) }
        // The credential that identifies the user to the backend; default: mirror.
        let credential = reader.has("hub") ? .mirror : readCredential(reader)
        // The method of extracting the text of a message: auto or literal; default: auto.
        let messages = reader.word("messages", of: MessageExtraction.self) ?? .auto
        // The time limit of the backend for one call; default: 65s.
        let timeout = reader.duration("timeout", in: .milliseconds(100)...(.seconds(600))) ?? .seconds(65)
        // The maximum number of connections to the backend; default: 256.
        let connections = reader.integer("connections", in: 1...65_536) ?? 256
        // The maximum number of calls that wait for a connection; further calls are rejected as overload. Default:
        // 2048.
        let waiting = reader.integer("waiting", in: 0...1_000_000) ?? 2048
        // The port of the embedded backend on 127.0.0.1; default: 0, which the system assigns.
        let embeddedPort = reader.integer("port", in: 0...65535)
        if embeddedPort != nil, let address, address != .embedded {
            reader.report("port", "applies only to the embedded backend; for others, set the port in url")
        }
        if profile.changesBackend, address == .embedded {
            reader.report("profile", "cannot set \"backend\" for the embedded backend; use classic, core or net6")
        }
        let handles = readHandleHosts(reader.mapping("handle-hosts"))
        guard let address else { return nil }
        return BackendSection(
            address: address, tls: tls, otherAddresses: others, check: check, connectionAge: age,
            profile: profile.profile,
            profileName: profile.name, hub: hub, credential: credential,
            messages: messages, handles: handles, timeout: timeout, connections: connections, waiting: waiting,
            embeddedPort: embeddedPort ?? 0, services: Set(PushService.allCases))
    }

    /// Reads `url`: one address, or a list of addresses of the same backend.
    private static func readAddresses(
        _ reader: ConfigurationReader
    ) -> (address: BackendAddress?, others: [UpstreamAddress]) {
        guard let node = reader.node("url"), case .sequence(let values) = node.shape else {
            return (reader.required("url").flatMap { readAddress($0, under: "url", reader) }, [])
        }
        let addresses = values.enumerated().compactMap { index, value in
            reader.string(of: value, under: "url[\(index)]").flatMap { readAddress($0, under: "url", reader) }
        }
        if values.isEmpty || values.count > 16 { reader.report("url", "must name from 1 to 16 addresses") }
        if Set(addresses).count < addresses.count { reader.report("url", "contains a duplicate address") }
        let remote = addresses.compactMap { address -> UpstreamAddress? in
            if case .remote(let address) = address { address } else { nil }
        }
        if remote.count < addresses.count, addresses.count > 1 {
            reader.report("url", "\"embedded\" cannot be combined with other addresses")
        }
        if Set(remote.map(\.isSecure)).count > 1 {
            reader.report("url", "mixes https with other addresses; use one kind")
        }
        return (addresses.first, Array(remote.dropFirst()))
    }

    private static func readAddress(
        _ text: String, under name: String, _ reader: ConfigurationReader
    ) -> BackendAddress? {
        guard let address = BackendAddress(text) else {
            reader.report(
                name,
                "\"\(text)\" is not a backend address; use http://host:port, https://host:port, unix: and an absolute path, or embedded"
            )
            return nil
        }
        return address
    }

    private static func readCheck(_ reader: ConfigurationReader?) -> Check? {
        guard let reader else { return nil }
        defer { reader.finish() }
        // The path that each address is requested for. An address is healthy if its response has a status below 500.
        let path = reader.required("path")
        // The period of the checks; default: 10s.
        let period = reader.duration("every", in: .seconds(1) ... .seconds(3600)) ?? .seconds(10)
        guard let path else { return nil }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), path.utf8.count <= 256 else {
            reader.report(
                "path", "\"\(path)\" is not a path; use / followed by visible ASCII characters")
            return nil
        }
        return Check(path: path, period: period)
    }

    private static func readHandleHosts(_ reader: ConfigurationReader?) -> HandleRules {
        guard let reader else { return HandleRules() }
        defer { reader.finish() }
        let standard = HandleRules()
        return HandleRules(
            wnsHosts: hosts("wns", reader) ?? standard.wnsHosts, mpnsHosts: hosts("mpns", reader) ?? standard.mpnsHosts)
    }

    private static func hosts(_ name: String, _ reader: ConfigurationReader) -> [String]? {
        guard let hosts = reader.strings(name) else { return nil }
        for host in hosts {
            let bare = host.hasPrefix("*.") ? host.dropFirst(2) : host[...]
            // A wildcard for a whole top-level domain would let the hub post to any host.
            if !bare.contains(".") || bare.contains("*") {
                reader.report(name, "\"\(host)\" is not a host name, or *. followed by a domain of at least two labels")
            }
        }
        return hosts
    }
}
