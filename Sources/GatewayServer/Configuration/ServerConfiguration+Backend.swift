internal import Gateway
internal import GatewayCore
internal import GatewayHTTP

extension ServerConfiguration {
    static func readBackend(_ root: ConfigurationReader) -> BackendSection? {
        guard let reader = root.mapping("backend") else {
            root.report("\"backend\" is missing")
            return nil
        }
        defer { reader.finish() }
        let (address, others) = readAddresses(reader)
        // Whom a backend of https is verified by, and who the gateway says that it is.
        let tls = readBackendTLS(reader, isSecure: address?.isSecure)
        let check = readCheck(reader.mapping("health"))
        // After which time a connection takes no further request, so that what a name stands for may change; 10 min.
        let age = reader.duration("connection-age", in: .seconds(1) ... .seconds(86_400)) ?? .seconds(600)
        // What clients and backend speak; classic unless given.
        let profile = readProfile(reader)
        // How the backend is told who the user is; mirror unless given.
        let credential = readCredential(reader)
        // How the text of a message is found: auto or literal; auto unless given.
        let messages = reader.word("messages", of: MessageExtraction.self) ?? .auto
        // How long the backend may take for one call; 65 s unless given.
        let timeout = reader.duration("timeout", in: .milliseconds(100)...(.seconds(600))) ?? .seconds(65)
        // How many connections to it there may be; 256 unless given.
        let connections = reader.integer("connections", in: 1...65_536) ?? 256
        // How many calls may wait for one of them; one more is refused as overloaded. 2048 unless given.
        let waiting = reader.integer("waiting", in: 0...1_000_000) ?? 2048
        // The port of the embedded backend on 127.0.0.1; 0, any, unless given.
        let embeddedPort = reader.integer("port", in: 0...65535)
        if embeddedPort != nil, let address, address != .embedded {
            reader.report("port", "is for the embedded backend alone; the url has the port of any other")
        }
        if profile.changesBackend, address == .embedded {
            reader.report("profile", "cannot change what the embedded backend takes; its profile is one of the three")
        }
        let handles = readHandleHosts(reader.mapping("handle-hosts"))
        guard let address else { return nil }
        return BackendSection(
            address: address, tls: tls, otherAddresses: others, check: check, connectionAge: age,
            profile: profile.profile,
            profileName: profile.name, credential: credential,
            messages: messages, handles: handles, timeout: timeout, connections: connections, waiting: waiting,
            embeddedPort: embeddedPort ?? 0)
    }

    /// `url`: one address, or a list of several of the same backend.
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
        if Set(addresses).count < addresses.count { reader.report("url", "names an address more than once") }
        let remote = addresses.compactMap { address -> UpstreamAddress? in
            if case .remote(let address) = address { address } else { nil }
        }
        if remote.count < addresses.count, addresses.count > 1 {
            reader.report("url", "embedded stands alone: it has no other address")
        }
        if Set(remote.map(\.isSecure)).count > 1 {
            reader.report("url", "names addresses of https and others; all of one backend are reached alike")
        }
        return (addresses.first, Array(remote.dropFirst()))
    }

    private static func readAddress(
        _ text: String, under name: String, _ reader: ConfigurationReader
    ) -> BackendAddress? {
        guard let address = BackendAddress(text) else {
            reader.report(
                name,
                "\"\(text)\" is not a backend; write http://host:port, https://host:port, unix: and an absolute path, or embedded"
            )
            return nil
        }
        return address
    }

    private static func readCheck(_ reader: ConfigurationReader?) -> Check? {
        guard let reader else { return nil }
        defer { reader.finish() }
        // What each address is asked for; it is well where it answers with a status below 500.
        let path = reader.required("path")
        // How often; 10 s.
        let period = reader.duration("every", in: .seconds(1) ... .seconds(3600)) ?? .seconds(10)
        guard let path else { return nil }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), path.utf8.count <= 256 else {
            reader.report(
                "path", "\"\(path)\" is not a path; it begins with / and has neither blanks nor anything beyond ASCII")
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
            // A star for a whole top-level domain would let the hub post anywhere.
            if !bare.contains(".") || bare.contains("*") {
                reader.report(name, "\"\(host)\" is not a host, nor *. and a domain of two parts or more")
            }
        }
        return hosts
    }
}
