internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import PostgreSQLClient

extension ServerConfiguration {
    /// Reads `store`: the database of registrations and sessions; default: the SQLite file of `ledger`.
    static func readStore(_ reader: ConfigurationReader?) -> PostgreSQLStore.Settings? {
        guard let reader else { return nil }
        defer { reader.finish() }
        guard let section = reader.mapping("postgresql") else {
            reader.report("\"postgresql\" is missing")
            return nil
        }
        defer { section.finish() }
        let address = readAddress(section)
        // The name of the database.
        let database = readName(section, "database")
        // The database user.
        let user = readName(section, "user")
        // Secret. The password of the database user; default: none.
        let password = section.string("password")
        if let password, !(1...1024).contains(password.utf8.count) {
            section.report("password", "must have 1 to 1024 bytes")
        }
        // The schema of the tables, which belongs to the database user; default: notify_gateway.
        let schema = section.has("schema") ? readName(section, "schema") : "notify_gateway"
        // The maximum number of connections for reads; default: 4.
        let readers = section.integer("connections", in: 1...64)
        // The time limit of one statement, and of an attempt to connect; default: 5s.
        let timeout = section.duration("timeout", in: .seconds(1)...(.seconds(60)))
        guard let address, let database, let user, let schema else { return nil }
        var connection = PostgreSQLSettings(
            address: address, database: database, user: user, password: password.map { Secret($0.utf8) })
        connection.schema = schema
        if let timeout { (connection.connectTimeout, connection.statementTimeout) = (timeout, timeout) }
        return PostgreSQLStore.Settings(connection: connection, readers: readers ?? PostgreSQLStore.defaultReaders)
    }

    /// Reads `hosts`, the servers as HOST:PORT with their TLS files, or `socket`, the directory of a Unix socket.
    private static func readAddress(_ section: ConfigurationReader) -> PostgreSQLSettings.Address? {
        // The directory of the Unix socket of a server on this machine.
        let socket = section.path("socket")
        // The port that names the socket; default: 5432.
        let port = section.integer("port", in: 1...65_535)
        // The servers of the database, each with a port.
        let hosts = section.has("hosts") ? section.strings("hosts") : nil
        // The trusted authorities in PEM; default: those of the system.
        let authorities = section.path("ca").map(PostgreSQLSettings.Authorities.file)
        let certificate = readClientCertificate(section)
        switch (socket, hosts) {
        case (let socket?, nil):
            for name in ["ca", "certificate", "key"] where section.has(name) {
                section.report(name, "has no effect with \"socket\": TLS is for servers in \"hosts\"")
            }
            return .unixSocket(directory: socket, port: port ?? 5432)
        case (nil, let hosts?):
            if port != nil { section.report("port", "belongs to \"socket\"; hosts have their port after a colon") }
            if !(1...8).contains(hosts.count) { section.report("hosts", "must have 1 to 8 servers") }
            let found = hosts.compactMap { text -> PostgreSQLSettings.Host? in
                let host = host(text)
                if host == nil { section.report("hosts", "\"\(text)\" is not a host with a port such as db1:5432") }
                return host
            }
            return found.isEmpty
                ? nil : .hosts(found, authorities: authorities ?? .system, clientCertificate: certificate)
        case (.some, .some): section.report("socket", "and \"hosts\" exclude each other")
        case (nil, nil):
            if !section.has("hosts"), !section.has("socket") {
                section.report("\"hosts\" or \"socket\" is missing")
            }
        }
        return nil
    }

    /// Reads the client certificate and its key.
    private static func readClientCertificate(_ section: ConfigurationReader) -> PostgreSQLSettings.ClientCertificate? {
        // The client certificate and its key, in PEM; default: none.
        switch (section.path("certificate"), section.path("key")) {
        case (let certificate?, let key?): return .init(certificatePath: certificate, keyPath: key)
        case (.some, nil): section.report("certificate", "needs \"key\"")
        case (nil, .some): section.report("key", "needs \"certificate\"")
        case (nil, nil): break
        }
        return nil
    }

    /// Parses `HOST:PORT`. An IPv6 address is in brackets.
    private static func host(_ text: String) -> PostgreSQLSettings.Host? {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var name = text[..<colon]
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = name.dropFirst().dropLast()
        } else if name.contains(":") {
            return nil
        }
        // A comma separates hosts in libpq's parameter, and a slash begins a directory.
        guard (1...253).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !name.contains(where: { ",/@".contains($0) })
        else { return nil }
        return PostgreSQLSettings.Host(String(name), port: port)
    }

    /// Reads the name of a database, a user or a schema.
    private static func readName(_ section: ConfigurationReader, _ key: String) -> String? {
        guard let name = section.required(key) else { return nil }
        // PostgreSQL cuts longer names.
        guard name.utf8.count <= 63, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            section.report(key, "must have at most 63 bytes without control characters")
            return nil
        }
        return name
    }
}
