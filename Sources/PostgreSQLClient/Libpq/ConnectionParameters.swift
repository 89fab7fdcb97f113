internal import CLibpq
internal import GatewaySupport
internal import Glibc

/// The keywords and values by which libpq connects to one address of a server.
///
/// Everything that libpq would otherwise take from the environment, `~/.pgpass`, `~/.postgresql` or a service file is
/// given here or removed:
/// - given: host, hostaddr (with TCP), port, dbname, user, options (PGOPTIONS), application_name, client_encoding, connect_timeout, sslmode,
///   sslrootcert, sslcert, sslkey, sslcrl, sslcompression, sslsni, ssl_min_protocol_version, ssl_max_protocol_version,
///   gssencmode, krbsrvname, channel_binding, target_session_attrs, keepalives and their times, tcp_user_timeout, passfile;
///   with libpq 16 and later also sslcertmode and load_balance_hosts, with 17 sslnegotiation;
/// - removed from the environment, because no value means "none": service, hostaddr (with a socket), requirepeer, sslcrldir, gsslib,
///   password if the settings have none, and what later versions of libpq add (``ClientEnvironment``).
struct ConnectionParameters {
    /// The keywords with their values, but not the password.
    let values: [(keyword: String, value: String)]
    private let password: Secret?
    /// The name of the server for messages.
    let server: String
    /// The name that the server's certificate must be valid for; nil for a Unix socket.
    let name: ServerName?
    /// A file that does not exist, also not for root: libpq reads files at fixed places unless it gets others.
    private static let noFile = "/dev/null/none"
    /// Debian's list of authorities. The word `system` of libpq 16 would mean the same.
    private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    /// A server of the settings, whose name may resolve to several addresses.
    enum Server {
        case unixSocket(directory: String, port: Int)
        case host(PostgreSQLSettings.Host, PostgreSQLSettings.Authorities, PostgreSQLSettings.ClientCertificate?)
    }

    /// The servers of the settings, in order.
    static func servers(_ settings: PostgreSQLSettings) throws(PostgreSQLError) -> [Server] {
        switch settings.address {
        case .unixSocket(let directory, let port):
            guard directory.hasPrefix("/"), !directory.contains(",") else {
                throw PostgreSQLError(.rejected, "the directory of the PostgreSQL socket is not an absolute path")
            }
            return [.unixSocket(directory: directory, port: port)]
        case .hosts(let hosts, let authorities, let clientCertificate):
            guard !hosts.isEmpty else { throw PostgreSQLError(.rejected, "the settings of PostgreSQL name no server") }
            // libpq would take these for a list of hosts, or for a socket without TLS.
            for host in hosts
            where host.name.isEmpty || host.name.contains(where: { "/@,".contains($0) || $0.isWhitespace }) {
                throw PostgreSQLError(.rejected, "\(host.name) is not the name of a PostgreSQL server")
            }
            return hosts.map { .host($0, authorities, clientCertificate) }
        }
    }

    /// Returns the parameters of each address of a server, in the order of getaddrinfo(3). The resolution blocks.
    static func all(
        _ settings: PostgreSQLSettings, _ server: Server
    ) throws(PostgreSQLError) -> [ConnectionParameters] {
        switch server {
        case .unixSocket(let directory, let port):
            return [
                try ConnectionParameters(
                    settings, server: "\(directory)/.s.PGSQL.\(port)", name: nil,
                    transport: [
                        ("host", directory), ("port", String(port)), ("sslmode", "disable"), ("sslrootcert", noFile),
                        ("sslcert", noFile), ("sslkey", noFile),
                    ])
            ]
        case .host(let host, let authorities, let clientCertificate):
            let name = "\(host.name):\(host.port)"
            let addresses = HostAddress.resolve(host.name, port: UInt16(clamping: host.port)).compactMap(\.text)
            guard !addresses.isEmpty else { throw PostgreSQLError(.unavailable, "\(name): the host name is unknown") }
            let authorities = if case .file(let path) = authorities { path } else { systemAuthorities }
            var all: [ConnectionParameters] = []
            for address in addresses {
                all.append(
                    try ConnectionParameters(
                        settings, server: addresses.count == 1 ? name : "\(name) (\(address))",
                        name: ServerName(host.name),
                        transport: [
                            ("host", host.name), ("hostaddr", address), ("port", String(host.port)),
                            ("sslmode", "verify-full"), ("sslrootcert", authorities),
                            ("sslcert", clientCertificate?.certificatePath ?? noFile),
                            ("sslkey", clientCertificate?.keyPath ?? noFile),
                        ]))
            }
            return all
        }
    }

    private init(
        _ settings: PostgreSQLSettings, server: String, name: ServerName?, transport: [(String, String)]
    ) throws(PostgreSQLError) {
        self.name = name
        let deadline = settings.statementTimeout.positiveMilliseconds
        // A lost server is noticed within the deadline: idle time, then probes.
        let idle = max(1, deadline / 3000)
        var values = transport
        values += [
            ("dbname", settings.database), ("user", settings.user), ("application_name", settings.applicationName),
            ("options", Self.options(settings)), ("client_encoding", "UTF8"), ("passfile", Self.noFile),
            ("connect_timeout", String(max(2, settings.connectTimeout.positiveMilliseconds / 1000))),
            ("target_session_attrs", settings.requiresPrimary ? "read-write" : "any"),
            ("gssencmode", "disable"), ("krbsrvname", "postgres"), ("channel_binding", "prefer"),
            ("sslcrl", Self.noFile), ("sslcompression", "0"), ("sslsni", "1"), ("ssl_min_protocol_version", "TLSv1.2"),
            ("ssl_max_protocol_version", "TLSv1.3"), ("keepalives", "1"), ("keepalives_idle", String(idle)),
            ("keepalives_interval", String(idle)), ("keepalives_count", "2"), ("tcp_user_timeout", String(deadline)),
        ]
        for (keyword, value) in [
            ("sslcertmode", "allow"), ("load_balance_hosts", "disable"), ("sslnegotiation", "postgres"),
        ] where ClientEnvironment.hasKeyword(keyword) {
            values.append((keyword, value))
        }
        for (keyword, value) in values where value.isEmpty || value.utf8.contains(0) {
            throw PostgreSQLError(.rejected, "the PostgreSQL setting \(keyword) is empty or contains a NUL character")
        }
        let passwordHasNUL = settings.password?.withUnsafeBytes { $0.contains(0) } ?? false
        guard !passwordHasNUL, settings.password?.count != 0 else {
            throw PostgreSQLError(.rejected, "the password of PostgreSQL is empty or contains a NUL character")
        }
        self.values = values.map { (keyword: $0.0, value: $0.1) }
        self.server = server
        password = settings.password
    }

    /// The settings of the session, as the server's command line has them.
    private static func options(_ settings: PostgreSQLSettings) -> String {
        var options = [
            ("statement_timeout", String(settings.statementTimeout.positiveMilliseconds)),
            ("idle_in_transaction_session_timeout", String(settings.idleInTransactionTimeout.positiveMilliseconds)),
            // The translation of placeholders relies on it.
            ("standard_conforming_strings", "on"),
            // Compiling a plan takes tenths of a second. The planner expects a gain from it wherever it has no index to use
            // and must not read the whole table (`enable_seqscan`), however small the table is.
            ("jit", "off"),
        ]
        if let schema = settings.schema {
            // `pg_catalog` comes before them, as always where it is not named. Temporary objects come last.
            options.append(("search_path", "\(QuotedIdentifier(schema).text),pg_temp"))
        }
        return options.map { name, value in
            let escaped = value.flatMap { $0 == "\\" || $0.isWhitespace ? ["\\", $0] : [$0] }
            return "-c \(name)=\(String(escaped))"
        }.joined(separator: " ")
    }

    /// Calls the closure with two arrays for PQconnectStartParams, both ended by a null pointer. Wipes the copy of the
    /// password afterwards; libpq keeps one until the connection ends.
    func withArrays<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        ClientEnvironment.removeVariables(except: values.map(\.keyword) + (password == nil ? [] : ["password"]))
        var keywords: [UnsafeMutablePointer<CChar>?] = values.map { strdup($0.keyword) }
        var contents: [UnsafeMutablePointer<CChar>?] = values.map { strdup($0.value) }
        if let password {
            keywords.append(strdup("password"))
            contents.append(
                password.withUnsafeBytes { bytes in
                    let copy = calloc(bytes.count + 1, 1)
                    if let copy, let start = bytes.baseAddress { memcpy(copy, start, bytes.count) }
                    return copy?.assumingMemoryBound(to: CChar.self)
                })
        }
        defer {
            if let password, let copy = contents.last ?? nil { explicit_bzero(copy, password.count) }
            for pointer in keywords + contents { free(pointer) }
        }
        return (keywords.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { keywords in
            (contents.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { contents in
                // Neither is empty: both end with a null pointer.
                body(keywords.baseAddress!, contents.baseAddress!)
            }
        }
    }
}
