import ClientCertificate
import ExternalProcess
import ForwardAuth
import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import LDAP
import Logging
import NIOPosix
import OIDC
import PAM
import StaticUsers
import Testing

@testable import Gateway
@testable import GatewayConfiguration

@Suite("Files that an authenticator's settings name")
struct AuthenticatorFileTests {
    private static let plugins: [any AuthenticatorPlugin.Type] = [
        StaticUsersPlugin.self, HMACTokenPlugin.self, PAMPlugin.self, LDAPPlugin.self, ExternalProcessPlugin.self,
        ForwardAuthPlugin.self, ClientCertificatePlugin.self, OIDCPlugin.self,
    ]

    /// One authenticator with the files that its settings name, each with two contents.
    struct Block: Sendable, CustomTestStringConvertible {
        let text: String
        var files: [String: [String]] = [:]
        /// Names of directories and sockets, whose content is read at each login.
        var others: [String] = []
        var testDescription: String { text }
    }

    private static let certificates = [TestAuthority("One").certificate, TestAuthority("Two").certificate]
    private static let hash = "$5$rounds=1000$bob$cr6R9EWEuhFKkx1neuJY8.iqd.V7.VzOb7/ApSr1wV0"
    private static func keys(_ id: String) -> String {
        "keys: [{ id: \(id), algorithm: HS256, secret: \"q3Vx0sTn8m2kZL5bYw7RcD1eHf6JgU4aPiOtN9vXyKM=\" }]"
    }
    private static func jwks(_ id: String) -> String {
        #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":""# + id
            + #"","alg":"EdDSA","use":"sig","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#
    }

    static let blocks = [
        Block(
            text: "static-users: { file: users.htpasswd }",
            files: ["users.htpasswd": ["bob:\(hash)\n", "bob:\(hash)\nalice:\(hash)\n"]]),
        Block(text: "hmac-token: { keys: keys.yaml }", files: ["keys.yaml": [keys("a"), keys("b")]]),
        Block(
            text: "ldap: { url: \"ldaps://directory.test\", base: \"dc=test\", ca: ca.pem }",
            files: ["ca.pem": certificates]),
        Block(
            text: "oidc: { issuer: \"https://127.0.0.1:1\", audience: a, ca: ca.pem, "
                + "login: { client: console, secret: secret } }",
            files: ["ca.pem": certificates, "secret": ["one", "another"]]),
        Block(
            text: "oidc: { issuer: \"https://127.0.0.1:1\", audience: a, jwks: jwks.json, algorithms: [EdDSA] }",
            files: ["jwks.json": [jwks("a"), jwks("b")]]),
        Block(text: "external-process: { socket: process.sock }", others: ["process.sock"]),
        Block(text: "forward-auth: { url: \"https://service.test\" }"),
        Block(text: "client-certificate: { user: cn }"),
        Block(text: "pam: { service: gateway-test, service-directory: pam.d }", others: ["pam.d"]),
    ]

    private func assembly(_ block: Block, in files: TestFiles) throws -> AuthenticatorAssembly {
        let file = try files.write("authenticators: [{ \(block.text) }]\n", to: "gateway.yaml")
        let plugins = ConfigurationFile.authenticators(in: file, catalog: PluginCatalog(Self.plugins))
        try #require(plugins.count == 1)
        return AuthenticatorAssembly(
            plugins: plugins, names: NameRules(), pool: BlockingPool(threads: .singleton, capacity: 4), clocks: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Returns the identity of the first authenticator.
    private static func identity(of made: AuthenticatorAssembly.Made) -> ObjectIdentifier {
        ObjectIdentifier(made.chain.links[0].authenticator as AnyObject)
    }

    @Test("An authenticator is kept while its files are the same, and a changed file counts", arguments: blocks)
    func changed(_ block: Block) async throws {
        let files = try TestFiles()
        for (name, contents) in block.files { try files.write(contents[0], to: name, mode: 0o600) }
        let assembly = try assembly(block, in: files)
        #expect(
            Set(assembly.plugins[0].files)
                == Set((Array(block.files.keys) + block.others).map { "\(files.path)/\($0)" }))
        // Without a file, no content can change.
        if block.files.isEmpty { return }
        let first = try await assembly.make(revocations: EmptyRevocationList())
        let kept = try await assembly.make(revocations: EmptyRevocationList(), keepingFrom: first)
        #expect(Self.identity(of: kept) == Self.identity(of: first))
        #expect(kept.withdrawn.isEmpty)
        for (name, contents) in block.files {
            try files.write(contents[1], to: name, mode: 0o600)
            let remade = try await assembly.make(revocations: EmptyRevocationList(), keepingFrom: kept)
            if let lives = kept.chain.links[0].authenticator as? any ReloadableAuthenticator {
                // It reads the file itself, at the reload too.
                #expect(Self.identity(of: remade) == Self.identity(of: kept))
                #expect(lives.files == ["\(files.path)/\(name)"])
                #expect(remade.kept.count == 1)
            } else {
                #expect(Self.identity(of: remade) != Self.identity(of: kept), "\(name)")
                #expect(remade.withdrawn == [assembly.plugins[0].name])
            }
            try files.write(contents[0], to: name, mode: 0o600)
        }
    }

    @Test("Every kind of authenticator is among them")
    func complete() {
        let named = Set(Self.blocks.map { String($0.text.prefix { $0 != ":" }) })
        #expect(named == Set(PluginCatalog(Self.plugins).names))
    }

    @Test("The content of ${file:} is part of the settings")
    func expanded() async throws {
        let files = try TestFiles()
        try files.write("0123456789abcdef", to: "token", mode: 0o600)
        let block = Block(
            text: "forward-auth: { url: \"https://service.test\", status-url: \"https://service.test/status\", "
                + "status-token: \"${file:token}\" }")
        let first = try await assembly(block, in: files).make(revocations: EmptyRevocationList())
        try files.write("fedcba9876543210", to: "token", mode: 0o600)
        let remade = try await assembly(block, in: files).make(revocations: EmptyRevocationList(), keepingFrom: first)
        #expect(Self.identity(of: remade) != Self.identity(of: first))
    }

    @Test("An authenticator that is gone, or made again, is withdrawn, unless its accounts are listed")
    func withdrawn() async throws {
        let files = try TestFiles()
        try files.write("bob:\(Self.hash)\n", to: "users.htpasswd", mode: 0o600)
        let service = try assembly(Block(text: "forward-auth: { url: \"https://service.test\" }"), in: files)
        let other = try assembly(Block(text: "forward-auth: { url: \"https://other.test\" }"), in: files)
        let users = try assembly(Block(text: "static-users: { file: users.htpasswd }"), in: files)
        let few = try assembly(Block(text: "static-users: { file: users.htpasswd, users: [bob] }"), in: files)
        let none = EmptyRevocationList()
        let first = try await service.make(revocations: none)
        #expect(try await other.make(revocations: none, keepingFrom: first).withdrawn == ["forward-auth"])
        #expect(try await users.make(revocations: none, keepingFrom: first).withdrawn == ["forward-auth"])
        let listed = try await users.make(revocations: none)
        #expect(try await few.make(revocations: none, keepingFrom: listed).withdrawn.isEmpty)
        #expect(try await service.make(revocations: none, keepingFrom: listed).withdrawn == ["static-users"])
    }
}
