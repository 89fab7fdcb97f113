import Foundation
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import PostgreSQLClient

@Suite(.enabled(if: hasServer)) struct ConnectionTests {
    private static let password = "right horse, battery\\'"

    private static func createRole(_ name: String, on server: PostgreSQLServer) throws {
        try server.run("CREATE ROLE \(name) LOGIN PASSWORD '\(password.replacing("'", with: "''"))'")
    }

    @Test(arguments: [0, 1, 2])
    func `Each of several servers is tried, and the one that accepted is the first one next time`(place: Int) throws {
        var options = PostgreSQLServer.Options()
        options.certificate = .one
        let server = try PostgreSQLServer(options)
        try Self.createRole("secured", on: server)
        // One that drops what it receives, and one that rejects the session as a fenced primary does.
        let silent = try SilentListener()
        let fenced = try PostgreSQLServer(options)
        func hosts(_ server: PostgreSQLServer) throws -> PostgreSQLSettings {
            try server.settings(user: "secured", password: Self.password, authority: TestCertificate.authority)
        }
        func host(of server: PostgreSQLServer) throws -> PostgreSQLSettings.Host {
            guard case .hosts(let hosts, _, _) = try hosts(server).address else { return .init("") }
            return hosts[0]
        }
        var settings = try hosts(server)
        var list = [try host(of: fenced), PostgreSQLSettings.Host("localhost", port: silent.port)]
        list.insert(try host(of: server), at: place)
        guard case .hosts(_, let authorities, let certificate) = settings.address else { return }
        settings.address = .hosts(list, authorities: authorities, clientCertificate: certificate)
        settings.connectTimeout = .seconds(5)
        for _ in 0..<2 {
            let connection = try PostgreSQLConnection.connect(settings, within: .seconds(6))
            #expect(try connection.rows("SELECT current_user") == [[.text("secured")]])
            #expect(settings.lastServer.index.load(ordering: .relaxed) == place)
            connection.close()
        }
        // The second attempt asked no other server.
        #expect(silent.accepted <= 1)
        settings.address = .hosts([list[place == 0 ? 1 : 0]], authorities: authorities, clientCertificate: certificate)
        #expect(try failure { try PostgreSQLConnection.connect(settings, within: .seconds(5)) }?.kind == .rejected)
    }

    @Test func `A role needs its password, which no error contains`() throws {
        let server = try #require(PostgreSQLServer.shared())
        try Self.createRole("secured", on: server)
        var settings = server.settings
        settings.user = "secured"
        settings.password = Secret(Self.password.utf8)
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        #expect(try connection.rows("SELECT current_user") == [[.text("secured")]])
        #expect(!"\(settings)".contains("horse"))
        for wrong in ["wrong horse", nil] {
            settings.password = wrong.map { Secret($0.utf8) }
            let error = try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }
            #expect(error?.kind == .rejected || (wrong == nil && error?.kind == .unavailable))
            #expect(error.map { "\($0)" }?.contains("horse") == false)
        }
        settings.password = Secret("horse\0".utf8)
        #expect(try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }?.kind == .rejected)
    }

    @Test func `Sessions have the limits and the schema of the settings`() throws {
        let connection = try connect {
            $0.statementTimeout = .milliseconds(7000)
            $0.idleInTransactionTimeout = .milliseconds(8000)
            $0.applicationName = "an 'odd' name\\"
        }
        func setting(_ name: String) throws -> PostgreSQLValue {
            try connection.rows("SELECT current_setting(?)", [.text(name)])[0][0]
        }
        #expect(try setting("statement_timeout") == .text("7s"))
        #expect(try setting("idle_in_transaction_session_timeout") == .text("8s"))
        #expect(try setting("jit") == .text("off"))
        #expect(try setting("application_name") == .text("an 'odd' name\\"))
        try connection.simple("CREATE SCHEMA \"a \\\"\"schema, b\"")
        let odd = try connect { $0.schema = "a \\\"schema, b" }
        #expect(try odd.rows("SELECT current_schema()") == [[.text("a \\\"schema, b")]])
    }

    @Test func `A database that does not exist and settings that make no sense are rejected`() throws {
        var changes: [(inout PostgreSQLSettings) -> Void] = [
            { $0.database = "nothing" }, { $0.database = "" }, { $0.user = "a\0b" },
            { $0.address = .unixSocket(directory: "relative", port: 1) },
            { $0.address = .hosts([], authorities: .system, clientCertificate: nil) },
        ]
        for name in ["/tmp", "@abstract", "a,b", "", "a b"] {
            changes.append { $0.address = .hosts([.init(name)], authorities: .system, clientCertificate: nil) }
        }
        for change in changes {
            var settings = try freshDatabase()
            change(&settings)
            #expect(try failure { try PostgreSQLConnection.connect(settings, within: .seconds(5)) }?.kind == .rejected)
        }
    }

    @Test func `A session that cannot write is refused if the settings require it`() throws {
        let server = try #require(PostgreSQLServer.shared())
        try Self.createRole("reader", on: server)
        try server.run("ALTER ROLE reader SET default_transaction_read_only = on")
        var settings = server.settings
        settings.user = "reader"
        settings.password = Secret(Self.password.utf8)
        let error = try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }
        #expect(error?.kind == .unavailable && error?.message.contains("read-only") == true)
        settings.requiresPrimary = false
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        #expect(try failure { try connection.execute("CREATE TABLE t ()") }?.kind == .readOnly)
    }

    @Test func `TLS accepts only the right authority and name`() throws {
        var options = PostgreSQLServer.Options()
        options.certificate = .one
        options.clientAuthority = TestCertificate.authority
        let server = try PostgreSQLServer(options)
        try Self.createRole("secured", on: server)
        func settings(_ authority: String = TestCertificate.authority) throws -> PostgreSQLSettings {
            try server.settings(user: "secured", password: Self.password, authority: authority)
        }
        let connection = try PostgreSQLConnection.connect(try settings(), within: .seconds(10))
        #expect(try connection.rows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == [[.integer(1)]])
        // A row that needs many records of TLS.
        #expect(
            try connection.rows("SELECT length(?)", [.text(String(repeating: "x", count: 1 << 20))]) == [
                [.integer(1 << 20)]
            ])
        let long = PostgreSQLValue.bytes(Array(repeating: 5, count: 1 << 20))
        #expect(try connection.rows("SELECT ?", [long]) == [[long]])

        let wrong = try failure {
            try PostgreSQLConnection.connect(try settings(TestAuthority().certificate), within: .seconds(10))
        }
        #expect(wrong?.kind == .rejected && wrong?.message.contains("certificate") == true)
        var system = try settings()
        let host = PostgreSQLSettings.Host("localhost", port: server.tcpPort ?? 0)
        system.address = .hosts([host], authorities: .system, clientCertificate: nil)
        #expect(try failure { try PostgreSQLConnection.connect(system, within: .seconds(10)) }?.kind == .rejected)

        // A port where nobody listens, then the server.
        var several = try settings()
        if case .hosts(let hosts, let authorities, _) = several.address {
            several.address = .hosts(
                [.init("127.0.0.1", port: 1)] + hosts, authorities: authorities, clientCertificate: nil)
        }
        _ = try PostgreSQLConnection.connect(several, within: .seconds(10))

        try server.run("CREATE ROLE client LOGIN")
        let files = try TestFiles()
        var certified = try settings()
        certified.user = "client"
        certified.password = nil
        #expect(try failure { try PostgreSQLConnection.connect(certified, within: .seconds(10)) }?.kind == .rejected)
        let client = try PostgreSQLSettings.ClientCertificate(
            certificatePath: files.write(TestCertificate.client.certificate, to: "client.pem"),
            keyPath: files.write(TestCertificate.client.key, to: "client.key"))
        if case .hosts(let hosts, let authorities, _) = certified.address {
            certified.address = .hosts(hosts, authorities: authorities, clientCertificate: client)
        }
        let byCertificate = try PostgreSQLConnection.connect(certified, within: .seconds(10))
        #expect(try byCertificate.rows("SELECT current_user") == [[.text("client")]])
    }

    @Test func `TLS rejects a certificate for another name`() throws {
        var options = PostgreSQLServer.Options()
        options.certificate = .elsewhere
        let server = try PostgreSQLServer(options)
        let settings = try server.settings(authority: TestCertificate.authority)
        let error = try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }
        #expect(error?.kind == .rejected && error?.message.contains("localhost") == true)
    }

    /// libpq's `verify-full` also accepts a common name, which a certificate with other names has.
    @Test(arguments: ServerNameCase.all.filter { $0.description.contains("CN=localhost") || $0.isForName })
    func `TLS accepts only a certificate with the configured name`(_ example: ServerNameCase) throws {
        var options = PostgreSQLServer.Options()
        options.certificate = example.certificate
        let server = try PostgreSQLServer(options)
        try Self.createRole("secured", on: server)
        for (host, isValid) in [("localhost", example.isForName), ("127.0.0.1", example.isForAddress)] {
            let settings = try server.settings(
                host: host, user: "secured", password: Self.password, authority: ServerNameCase.authority)
            let error = try failure { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }
            #expect((error == nil) == isValid, "\(host): \(error?.message ?? "accepted")")
            #expect(isValid || error?.kind == .rejected)
        }
    }

    @Test func `An address that drops packets leaves time for the next one`() throws {
        let deadline = Deadline(after: .seconds(60))
        #expect(deadline.share(of: 1).instant == deadline.instant)
        let half = deadline.share(of: 2).remainingMilliseconds
        #expect((29_000...30_000).contains(half))
        #expect(Deadline(after: .zero).share(of: 3).hasPassed)
        // Whether a share is for each address: one name with several of them.
        let addresses = HostAddress.resolve("localhost", port: 1).compactMap(\.text)
        let host = PostgreSQLSettings.Host("localhost", port: 1)
        var settings = try freshDatabase()
        settings.address = .hosts([host], authorities: .system, clientCertificate: nil)
        let servers = try ConnectionParameters.servers(settings)
        let all = try ConnectionParameters.all(settings, servers[0])
        #expect(all.map { $0.values.first { $0.keyword == "hostaddr" }?.value } == addresses)
        #expect(all.allSatisfy { $0.values.first { $0.keyword == "host" }?.value == "localhost" })
    }

    @Test func `The environment and files of the user change nothing`() async {
        // In a process of its own, with a server of its own: variables belong to the whole process.
        await #expect(processExitsWith: .success) {
            let server = try #require(PostgreSQLServer.shared())
            try ConnectionTests.createRole("secured", on: server)
            let files = try TestFiles()
            let passwords = try files.write("*:*:*:*:\(ConnectionTests.password)\n", to: "passwords")
            let variables = [
                "PGHOST": "elsewhere.test", "PGHOSTADDR": "127.0.0.9", "PGPORT": "1", "PGUSER": "other",
                "PGDATABASE": "other", "PGPASSWORD": ConnectionTests.password, "PGPASSFILE": passwords,
                "PGOPTIONS": "-c statement_timeout=1", "PGSERVICE": "missing", "PGSERVICEFILE": "/nonexistent",
                "PGSSLMODE": "require", "PGREQUIREPEER": "somebody", "PGSSLCERT": passwords, "PGSSLCRLDIR": files.path,
                "PGAPPNAME": "other", "PGCLIENTENCODING": "LATIN1", "PGTZ": "Nowhere/None", "PGDATESTYLE": "none",
                "PGTARGETSESSIONATTRS": "standby", "PGCHANNELBINDING": "require", "PGGSSENCMODE": "require",
                "PGSSLMINPROTOCOLVERSION": "wrong",
            ]
            for (name, value) in variables { setenv(name, value, 1) }
            var settings = server.settings
            let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
            let names = "SELECT current_user, current_setting('application_name'), current_setting('client_encoding')"
            #expect(
                try connection.rows("\(names), current_setting('statement_timeout')")
                    == [[.text("gateway"), .text("notify-gateway"), .text("UTF8"), .text("5s")]])
            // The password of the environment would be right.
            settings.user = "secured"
            #expect(throws: PostgreSQLError.self) { try PostgreSQLConnection.connect(settings, within: .seconds(10)) }
        }
    }
}
