internal import AuditSinks
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import OutboundHTTP

extension ServerConfiguration {
    /// Reads `sinks` of the journal, at most ``AuditSinkSettings/maximumCount``.
    static func readSinks(_ journal: ConfigurationReader, journal directory: String) -> [AuditSinkSettings] {
        var sinks: [AuditSinkSettings] = []
        let elements = journal.sequence("sinks") ?? []
        if elements.count > AuditSinkSettings.maximumCount {
            journal.report("sinks", "must have at most \(AuditSinkSettings.maximumCount) elements")
        }
        for element in elements.prefix(AuditSinkSettings.maximumCount) {
            let reader = journal.reader(of: element.node, under: element.path)
            defer { reader.finish() }
            guard let sink = readSink(reader, journal: directory) else { continue }
            if sinks.contains(where: { $0.name == sink.name }) {
                reader.report("name", "\"\(sink.name)\" is already the name of another sink")
            }
            if sinks.contains(where: { $0.target.identity == sink.target.identity }) {
                reader.report("has the same kind and address as another sink")
            }
            sinks.append(sink)
        }
        return sinks
    }

    private static func readSink(_ reader: ConfigurationReader, journal directory: String) -> AuditSinkSettings? {
        // The label of metrics and log lines. The position of a sink belongs to its name.
        let name = reader.required("name")
        if let name, !AuditSinkSettings.isName(name) {
            reader.report("name", "\"\(name)\" is not a name; use 1 to 32 lower-case letters, digits and hyphens")
        }
        // The first record of a new sink: now, or oldest for all records of the journal; default: now.
        let start = reader.word("start", of: AuditSinkSettings.Start.self) ?? .now
        let kinds = ["syslog", "webhook", "file"]
        guard kinds.filter(reader.has).count == 1 else {
            for kind in kinds { _ = reader.node(kind) }
            reader.report("must have exactly one of: \(kinds.joined(separator: ", "))")
            return nil
        }
        let syslog = reader.mapping("syslog").flatMap(readSyslog).map(AuditSinkSettings.Target.syslog)
        let webhook = reader.mapping("webhook").flatMap(readWebhook).map(AuditSinkSettings.Target.webhook)
        let file = reader.mapping("file").flatMap { readFile($0, outside: directory) }
        guard let name, let target = syslog ?? webhook ?? file.map(AuditSinkSettings.Target.file) else { return nil }
        return AuditSinkSettings(name: name, target: target, start: start)
    }

    private static func readSyslog(_ reader: ConfigurationReader) -> SyslogSettings? {
        defer { reader.finish() }
        // A host and a port for TLS, or unix: and the absolute path of a socket.
        let text = reader.required("address")
        // The type of a Unix socket; default: datagram.
        let socket = reader.word("socket", of: SocketType.self)
        // The facility of all messages; default: authpriv.
        let facility = reader.word("facility", of: SyslogSettings.Facility.self) ?? .authpriv
        let authority = readAuthority(reader)
        // The name in the server's certificate; default: the host of the address.
        let serverName = reader.has("server-name") ? reader.required("server-name") : reader.string("server-name")
        if let serverName, serverName.contains(":") || serverName.allSatisfy({ $0.isNumber || $0 == "." }) {
            // TLS would compare the certificate with the address of the connection instead.
            reader.report("server-name", "must be the name of a host, not an address")
        }
        guard let text else { return nil }
        guard let address = syslogAddress(text, socket ?? .datagram) else {
            reader.report(
                "address",
                "\"\(text)\" is not an address; use a host and a port such as logs.example.org:6514, or unix: and an "
                    + "absolute path of at most 107 bytes")
            return nil
        }
        switch address {
        case .tls: if socket != nil { reader.report("socket", "applies only to a Unix socket") }
        case .datagram, .stream:
            for name in ["ca", "server-name"] where reader.has(name) {
                reader.report(name, "applies only to a connection with TLS")
            }
        }
        return SyslogSettings(
            address: address, facility: facility, authority: authority, serverName: serverName)
    }

    private enum SocketType: String, CaseIterable {
        case datagram
        case stream
    }

    private static func syslogAddress(_ text: String, _ type: SocketType) -> SyslogSettings.Address? {
        if let path = text.droppingPrefix("unix:") {
            // The length of sun_path in sockaddr_un, without the final zero.
            guard path.hasPrefix("/"), path.utf8.count <= 107 else { return nil }
            return type == .stream ? .stream(path: path) : .datagram(path: path)
        }
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            return .tls(host: String(host.dropFirst().dropLast()), port: port)
        }
        guard !host.isEmpty, !host.contains(where: { ":/@[]".contains($0) }) else { return nil }
        return .tls(host: String(host), port: port)
    }

    private static func readWebhook(_ reader: ConfigurationReader) -> WebhookSettings? {
        defer { reader.finish() }
        // The URL to which batches are posted.
        var url: EndpointURL?
        if let text = reader.required("url") {
            do throws(EndpointURL.Malformed) { url = try EndpointURL(text) } catch {
                reader.report("url", error.reason)
            }
        }
        // Secret. The key of the signatures.
        let secret = reader.required("secret")
        if let secret, secret.utf8.count < WebhookSettings.minimumSecretBytes {
            reader.report("secret", "must have at least \(WebhookSettings.minimumSecretBytes) bytes")
        }
        let authority = readAuthority(reader)
        // The time for one request; default: 30s.
        let timeout = reader.duration("timeout", in: .seconds(1) ... .seconds(300)) ?? .seconds(30)
        // The maximum number of records in a request; default: 500.
        let records = reader.integer("records", in: 1...5000) ?? 500
        guard let url, let secret else { return nil }
        return WebhookSettings(
            url: url, secret: Secret(secret.utf8), authority: authority, timeout: timeout, records: records)
    }

    private static func readFile(_ reader: ConfigurationReader, outside directory: String) -> String? {
        defer { reader.finish() }
        // The file to which lines are appended.
        guard let path = reader.required("path").map(reader.absolute) else { return nil }
        if SigningKeyFile.isInside(path, directory) {
            reader.report("path", "must be outside the journal's directory")
        }
        return path
    }

    /// Reads `ca`: the file of the trusted authorities in PEM; default: those of the system.
    static func readAuthority(_ reader: ConfigurationReader) -> String? {
        guard reader.has("ca") else {
            _ = reader.node("ca")
            return nil
        }
        return reader.required("ca").map(reader.absolute)
    }
}
