import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ExternalProcess

@Suite("Settings of external-process")
struct SettingsTests {
    static func read(_ yaml: String) throws -> (ExternalProcessPlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let reader = ConfigurationReader(
            try YAMLDocument.parse(yaml, file: "gateway.yaml"), directory: "/etc/gateway", problems: problems)
        let settings = ExternalProcessPlugin.readSettings(reader)
        reader.finish()
        return (settings, problems.all.map(\.description))
    }

    @Test("Every setting is read")
    func all() throws {
        let (read, problems) = try Self.read(
            "{ socket: auth.sock, kinds: [bearer], timeout: 2s, connections: 9, queue: 7, status: true }")
        let settings = try #require(read)
        #expect(problems.isEmpty)
        #expect(settings.socket == "/etc/gateway/auth.sock")
        #expect(settings.delegation.kinds == [.bearer])
        #expect(settings.delegation.timeout == .seconds(2))
        #expect(settings.delegation.connections == 9)
        #expect(settings.delegation.queue == 7)
        #expect(settings.reportsStatus)
    }

    @Test("Missing settings have their defaults")
    func defaults() throws {
        let settings = try #require(try Self.read("{ socket: /run/auth.sock }").0)
        #expect(settings.delegation.kinds == [.password, .bearer])
        #expect(settings.delegation.timeout == .seconds(5))
        #expect(settings.delegation.connections == 4)
        #expect(settings.delegation.queue == 64)
        #expect(!settings.reportsStatus)
    }

    @Test("Only the setting decides whether the authenticator reports the status of accounts")
    func support() async throws {
        for (text, support) in [("false", AccountStatusSupport.loginsOnly), ("true", .status)] {
            let settings = try #require(try Self.read("{ socket: /s, status: \(text) }").0)
            #expect(ExternalProcessPlugin.accountStatusSupport(settings) == support)
            let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
            #expect((authenticator is any AccountAuthenticator) == (support == .status))
        }
        #expect(
            try Self.read("{ socket: /s, status: maybe }").1 == ["gateway.yaml:1:23: status: must be true or false"])
    }

    @Test("The accepted kinds are the configured ones")
    func takes() throws {
        for (kinds, taken) in [("[bearer]", [.bearer]), ("[password]", [.password]), ("~", [.password, .bearer])]
            as [(String, Set<CredentialKind>)]
        {
            let settings = try #require(try Self.read("{ socket: /s, kinds: \(kinds) }").0)
            #expect(ExternalProcessPlugin.credentialKinds(settings) == taken)
        }
    }

    @Test("Every mistake is reported with its location")
    func mistakes() throws {
        let (settings, problems) = try Self.read(
            """
            socket: \(String(repeating: "x", count: 120))
            kinds: [password, certificate]
            timeout: 2h
            connections: 0
            queue: many
            sockt: /run/x
            """)
        #expect(settings == nil)
        #expect(
            problems == [
                "gateway.yaml:1:9: socket: is longer than 107 bytes, or contains a NUL",
                "gateway.yaml:2:19: kinds[1]: \"certificate\" is not one of: password, bearer",
                "gateway.yaml:3:10: timeout: must be from 10ms to 1min",
                "gateway.yaml:4:14: connections: must be a whole number from 1 to 64",
                "gateway.yaml:5:8: queue: must be a whole number from 1 to 4096",
                "gateway.yaml:6:1: sockt: is not a known key; did you mean `socket`? known keys: "
                    + "connections, kinds, queue, socket, status, timeout",
            ])
        #expect(try Self.read("{}").1 == ["gateway.yaml:1:1: \"socket\" is missing"])
        #expect(
            try Self.read("{ socket: /x, kinds: [] }").1 == [
                "gateway.yaml:1:22: kinds: must not be empty; list at least one kind, or omit it for both"
            ])
    }

    @Test("A socket of another user, one open to every user, and another file are rejected")
    func files() {
        let socket: UInt32 = 0o140000
        #expect(SocketFile.fault(mode: socket | 0o600, owner: 0, ownUser: 1000) == nil)
        #expect(SocketFile.fault(mode: socket | 0o660, owner: 1000, ownUser: 1000) == nil)
        #expect(SocketFile.fault(mode: socket | 0o600, owner: 1001, ownUser: 1000) == .foreign(owner: 1001))
        #expect(SocketFile.fault(mode: socket | 0o600, owner: 1001, ownUser: 0) == .foreign(owner: 1001))
        #expect(SocketFile.fault(mode: socket | 0o602, owner: 0, ownUser: 1000) == .open(mode: 0o602))
        #expect(SocketFile.fault(mode: 0o100600, owner: 0, ownUser: 0) == .notASocket)
    }

    @Test("Problems have the location of the path, and a missing socket is a warning")
    func problems() async throws {
        let directory = try TestFiles()
        func problems(_ path: String) async throws -> [ConfigurationProblem] {
            let settings = try #require(try Self.read("{ socket: \(path) }").0)
            return await ExternalProcessPlugin.problems(in: settings, context: .test())
        }
        let absent = try await problems(directory.socket)
        #expect(absent.map(\.severity) == [.warning])
        #expect(absent.map(\.location) == [SourceLocation(file: "gateway.yaml", line: 1, column: 11)])
        let file = try directory.write("", to: "file", mode: 0o644)
        let regular = try await problems(file)
        #expect(regular.map(\.description) == ["gateway.yaml:1:11: socket: \(file) is not a Unix socket"])
        let process = try await ScriptedProcess.start(at: directory.socket) { _ in [] }
        try directory.setMode(0o666, of: "socket")
        let open = try await problems(directory.socket)
        #expect(open.map(\.severity) == [.error])
        try directory.setMode(0o660, of: "socket")
        #expect(try await problems(directory.socket) == [])
        await process.stop()
    }
}
