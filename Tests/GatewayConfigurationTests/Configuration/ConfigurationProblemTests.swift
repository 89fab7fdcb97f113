import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Problems of a configuration")
struct ConfigurationProblemTests {
    @Test("A minimal configuration has no problem")
    func minimal() throws {
        let (configuration, problems) = ConfigurationFile.read(
            ConfigurationText.good, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        #expect(problems.isEmpty)
        let read = try #require(configuration)
        #expect(read.listeners.map(\.address) == [.tcp(host: "127.0.0.1", port: 8080)])
        #expect(read.admin == .tcp(host: "127.0.0.1", port: 9090))
        #expect(read.limits.map(\.name) == ["sends", "pair", "inbox", "calls", "login"])
        #expect(read.journal.minimumFree == 256 << 20)
        #expect(read.callsInFlight == 2048 && read.backend.connections == 256 && read.backend.waiting == 2048)
    }

    @Test("Five errors are five problems, each with line and column")
    func fiveMistakes() {
        let text = """
            listen:
              - address: localhost
            backend: { url: ftp://backend, profile: classics }
            authenticators:
              - fixed: { colour: red }
            policy: { send: [{ from: "*", to: "*" }] }
            limits:
              - { name: sends, per: sender, rate: 30/mim }
            """
        #expect(
            ConfigurationText.problems(text) == [
                "gateway.yaml:2:14: listen[0].address: \"localhost\" is not an address; use an IP address and a port "
                    + "such as 127.0.0.1:8080 or [::1]:8080, or unix: and an absolute path",
                "gateway.yaml:3:17: backend.url: \"ftp://backend\" is not a backend address; use http://host:port, "
                    + "https://host:port, unix: and an absolute path, or embedded",
                "gateway.yaml:3:41: backend.profile: \"classics\" is not one of: classic, core, net6",
                "gateway.yaml:5:14: authenticators[0].fixed.colour: is not a known key; known keys: groups, users",
                "gateway.yaml:8:39: limits[0].rate: \"30/mim\" is not a rate; use a number, a slash, and s, min, h or d",
            ])
    }

    @Test(
        "No problem contains a value from an expansion or an unusual unknown key",
        arguments: [
            "backend: { url: \"http://127.0.0.1:1\", credential: \"${SEC}\" }\n",
            "backend: { url: \"http://u:${SEC}@127.0.0.1\" }\n", "listen: [{ address: \"${SEC}\" }]\n",
            "limits: [{ name: a, per: sender, rate: \"${SEC}/s\" }]\n",
            "backend: { credential: { shared-password:\"hunter2-SECRET\" } }\n",
        ])
    func noSecrets(_ text: String) {
        let (_, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]),
            environment: ["SEC": "hunter2-SECRET"])
        #expect(!problems.isEmpty)
        #expect(!problems.contains { $0.description.lowercased().contains("hunter2") }, "\(problems)")
    }

    @Test(
        "One error is one problem",
        arguments: [
            ("listen: []\n", "gateway.yaml:1:9: listen: must name at least one listener"),
            (
                "lissen: []\n",
                "gateway.yaml:1:1: lissen: is not a known key; did you mean `listen`? known keys: admin, audiences, authentication, "
                    + "authenticators, backend, connections, console, control, drain, event-loops, fences, identity, journal, ledger, "
                    + "limits, listen, log, overload, policy, sends, store, tracing, version"
            ),
            (
                "control: /\(String(repeating: "d", count: 107))\n",
                "gateway.yaml:1:10: control: is an absolute path of 108 bytes; the system allows at most 107"
            ),
            (
                "control: run/\n",
                "gateway.yaml:1:10: control: must be the path of a socket, not a directory"
            ),
            (
                "log: { level: loud }\n",
                "gateway.yaml:1:15: log.level: \"loud\" is not one of: trace, debug, info, notice, "
                    + "warning, error, critical"
            ),
            (
                "journal: { minimum-free: lots }\n",
                "gateway.yaml:1:26: journal.minimum-free: \"lots\" is not a size; "
                    + "write a number of bytes, or a number and KiB, MiB or GiB"
            ),
            (
                "journal: { directory: here, signing-key: here/../here/a.key }\n",
                "gateway.yaml:1:42: journal.signing-key: must be outside the journal's directory"
            ),
            (
                "journal: { directory: /x/y, archive: {} }\n",
                "gateway.yaml:1:38: journal.archive: \"s3\" is missing"
            ),
            (
                "journal: { directory: /x/y, checkpoint-copy: /x/y/z }\n",
                "gateway.yaml:1:46: journal.checkpoint-copy: must be outside the journal's directory"
            ),
            (
                "identity: { strip: [example] }\n",
                "gateway.yaml:1:20: identity.strip: \"example\" is not a suffix @DOMAIN or a prefix DOMAIN\\"
            ),
            (
                "overload: { calls: 0 }\n",
                "gateway.yaml:1:20: overload.calls: must be a whole number from 1 to 1000000"
            ),
            (
                "overload: { queue: 1 }\n",
                "gateway.yaml:1:13: overload.queue: is not a known key; known keys: calls, calls-per-address, calls-per-user"
            ),
            (
                "authentication: { deadline: 2min }\n",
                "gateway.yaml:1:29: authentication.deadline: must be from 1s to 1min"
            ),
            (
                "authentication: { session-without-status: 59s }\n",
                "gateway.yaml:1:43: authentication.session-without-status: must be from 1min to 365d"
            ),
            (
                "authentication: { device-without-status: 59min }\n",
                "gateway.yaml:1:42: authentication.device-without-status: must be from 1h to 3650d"
            ),
            (
                "authentication: { timeout: 2s }\n",
                "gateway.yaml:1:19: authentication.timeout: is not a known key; "
                    + "known keys: deadline, device-without-status, session-without-status, sessions-per-user"
            ),
        ])
    func oneMistake(line: String, problem: String) {
        #expect(ConfigurationText.problems(line + ConfigurationText.good) == [problem])
    }

    @Test("A configuration without authenticators and policy is rejected")
    func protectsNothing() {
        #expect(
            ConfigurationText.problems("backend: { url: embedded }\npolicy: {}\nauthenticators: []") == [
                "gateway.yaml:3:17: authenticators: must name at least one of: fixed",
                "gateway.yaml:2:9: warning: policy: has no \"send\"; all sends are rejected",
            ])
        #expect(
            ConfigurationText.problems("") == [
                "gateway.yaml:1:1: \"backend\" is missing",
                "gateway.yaml:1:1: authenticators: must name at least one of: fixed",
                "gateway.yaml:1:1: \"policy\" is missing; without rules, all sends are rejected",
            ])
    }

    @Test("A required setting without a value is reported")
    func emptyValues() {
        let text = """
            backend: { url: embedded, credential: { shared-password: "${WORD}" } }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: }], tags: [{ user: "*", allow: ~ }] }
            limits:
              - { name: sends, per: sender, rate: }
              - name: calls
                per: user
                rate: ${WORD}
            """
        #expect(
            ConfigurationText.problems(text, environment: ["WORD": ""]) == [
                "gateway.yaml:1:58: backend.credential.shared-password: must not be empty",
                "gateway.yaml:3:35: policy.send[0].to: must not be empty",
                "gateway.yaml:3:46: policy.tags[0]: \"allow\" is missing",
                "gateway.yaml:5:39: limits[0].rate: must not be empty",
                "gateway.yaml:8:11: limits[1].rate: must not be empty",
            ])
    }

    @Test("Variables are expanded once, after parsing, and a missing variable is reported at its position")
    func variables() throws {
        let text = """
            backend:
              url: http://backend:5000
              credential: { shared-password: "${WORD}" }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """
        let (configuration, found) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]),
            environment: ["WORD": "${OTHER}: {"])
        #expect(found.isEmpty)
        guard case .sharedPassword(let password)? = configuration?.backend.credential else {
            Issue.record("the credential is not a shared password")
            return
        }
        #expect(password.isEqual(to: Secret("${OTHER}: {".utf8)))
        #expect(
            ConfigurationText.problems(text) == [
                "gateway.yaml:3:34: backend.credential.shared-password: the environment variable WORD is not set",
                "gateway.yaml:3:34: backend.credential.shared-password: must not be empty",
            ])
    }

    @Test("A YAML syntax error is reported with its position")
    func notYAML() {
        #expect(ConfigurationText.problems("backend: {\n  url: [").count == 1)
        #expect(
            ConfigurationText.problems("a: 1\na: 2\n").first?.hasPrefix("gateway.yaml:2:1: duplicate name")
                == true)
    }
}
