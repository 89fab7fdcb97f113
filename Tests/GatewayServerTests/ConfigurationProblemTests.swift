import Gateway
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayServer

@Suite("Everything wrong with a configuration, at its place")
struct ConfigurationProblemTests {
    private static let good = """
        backend: { url: embedded }
        authenticators: [{ fixed: {} }]
        policy: { send: [{ from: "*", to: "*" }] }

        """

    private func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
        ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/etc/notify-gateway", catalog: PluginCatalog([FixedPlugin.self]),
            environment: environment
        ).problems.map(\.description)
    }

    @Test("A minimal configuration has none")
    func minimal() throws {
        let (configuration, problems) = ConfigurationFile.read(
            Self.good, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        #expect(problems.isEmpty)
        let read = try #require(configuration)
        #expect(read.listeners.map(\.address) == [.tcp(host: "127.0.0.1", port: 8080)])
        #expect(read.admin == .tcp(host: "127.0.0.1", port: 9090))
        #expect(read.limits.map(\.name) == ["sends", "pair", "inbox", "calls", "login"])
        #expect(read.journal.minimumFree == 256 << 20)
        #expect(read.callsInFlight == 4096 && read.backend.connections == 256 && read.backend.waiting == 2048)
    }

    @Test("Five mistakes are five problems, each with line and column")
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
            problems(text) == [
                "gateway.yaml:2:14: listen[0].address: \"localhost\" is not an address; write an IP address and a port "
                    + "such as 127.0.0.1:8080 or [::1]:8080, or unix: and an absolute path",
                "gateway.yaml:3:17: backend.url: \"ftp://backend\" is not a backend; write http://host:port, "
                    + "https://host:port, unix: and an absolute path, or embedded",
                "gateway.yaml:3:41: backend.profile: \"classics\" is none of: classic, core, net6",
                "gateway.yaml:5:14: authenticators[0].fixed.colour: is not known here; known are: groups, users",
                "gateway.yaml:8:39: limits[0].rate: \"30/mim\" is not a rate; write a number, a slash, and s, min, h or d",
            ])
    }

    @Test(
        "One mistake is one problem",
        arguments: [
            ("listen: []\n", "gateway.yaml:1:9: listen: must name at least one listener"),
            (
                "lissen: []\n",
                "gateway.yaml:1:1: lissen: is not known here; known are: admin, audiences, authentication, "
                    + "authenticators, backend, connections, control, drain, event-loops, identity, journal, ledger, "
                    + "limits, listen, log, overload, policy, version"
            ),
            (
                "control: /\(String(repeating: "d", count: 107))\n",
                "gateway.yaml:1:10: control: is 108 bytes long as a whole path; the system takes at most 107"
            ),
            (
                "control: run/\n",
                "gateway.yaml:1:10: control: must be the path of a socket, not of a directory"
            ),
            (
                "log: { level: loud }\n",
                "gateway.yaml:1:15: log.level: \"loud\" is none of: trace, debug, info, notice, "
                    + "warning, error, critical"
            ),
            (
                "journal: { minimum-free: lots }\n",
                "gateway.yaml:1:26: journal.minimum-free: \"lots\" is not a size; "
                    + "write a number of bytes, or a number and KiB, MiB or GiB"
            ),
            (
                "journal: { directory: here, signing-key: here/../here/a.key }\n",
                "gateway.yaml:1:42: journal.signing-key: must lie outside the journal's directory"
            ),
            (
                "journal: { directory: /x/y, checkpoint-copy: /x/y/z }\n",
                "gateway.yaml:1:46: journal.checkpoint-copy: must lie outside the journal's directory"
            ),
            (
                "identity: { strip: [example] }\n",
                "gateway.yaml:1:20: identity.strip: \"example\" is neither a domain "
                    + "and \\, nor @ and a domain"
            ),
            (
                "limits: [{ name: a, per: address, rate: 1/s, exempt: [alice] }]\n",
                "gateway.yaml:1:54: limits[0].exempt: has no meaning where "
                    + "address alone is counted: nobody knows yet who calls"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: [alice, \"group:a b\"] }]\n",
                "gateway.yaml:1:59: limits[0].exempt[1]: \"group:a b\" is no user, nor group: and a group"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: [\"*\"] }]\n",
                "gateway.yaml:1:52: limits[0].exempt[0]: \"*\" is no user, nor group: and a group"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, exempt: alice }]\n",
                "gateway.yaml:1:51: limits[0].exempt: must be a list"
            ),
            (
                "limits: [{ name: a, per: [user, users], rate: 1/s }]\n",
                "gateway.yaml:1:26: limits[0].per: must be one or several different ones of: "
                    + "sender, recipient, user, group, pns, address"
            ),
            (
                "limits: [{ name: a, per: [user, user], rate: 1/s }]\n",
                "gateway.yaml:1:26: limits[0].per: must be one or several different ones of: "
                    + "sender, recipient, user, group, pns, address"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, shadow: maybe }]\n",
                "gateway.yaml:1:51: limits[0].shadow: must be true or false"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, cost: 2 }]\n",
                "gateway.yaml:1:49: limits[0].cost: \"2\" is none of: member, call"
            ),
            (
                "limits: [{ name: a, per: [recipient, pns], rate: 1/s, cost: call }]\n",
                "gateway.yaml:1:61: limits[0].cost: has no meaning here: by recipient each member "
                    + "of an audience is asked for itself"
            ),
            (
                "limits: [\(Self.manyLimits)]\n",
                "gateway.yaml:1:9: limits: must be at most 64"
            ),
            (
                "overload: { calls: 0 }\n",
                "gateway.yaml:1:20: overload.calls: must be a whole number from 1 to 1000000"
            ),
            (
                "overload: { queue: 1 }\n",
                "gateway.yaml:1:13: overload.queue: is not known here; known are: calls"
            ),
            (
                "limits: [{ name: a, per: user, rate: 1/s, burst: 0 }]\n",
                "gateway.yaml:1:50: limits[0].burst: must be a "
                    + "whole number from 1 to 1000000"
            ),
            (
                "authentication: { deadline: 2min }\n",
                "gateway.yaml:1:29: authentication.deadline: must be from 1s to 1min"
            ),
            (
                "authentication: { timeout: 2s }\n",
                "gateway.yaml:1:19: authentication.timeout: is not known here; known are: deadline"
            ),
            ("limits: []\n", "gateway.yaml:1:9: warning: limits: is empty: nothing is limited"),
        ])
    func oneMistake(line: String, problem: String) {
        #expect(problems(line + Self.good) == [problem])
    }

    private static let manyLimits = (0..<65).map { "{ name: l\($0), per: user, rate: 1/s }" }.joined(separator: ", ")

    @Test("A limit with all that it may say, and one that says all in brief")
    func limits() throws {
        let text = """
            limits:
              - { name: sends, per: [pns, sender, group], rate: 60/min, burst: 90, shadow: true, exempt: ["group:alarms", Bob], cost: call }
              - { name: device, per: [user, address], rate: 5/s }

            """
        let (configuration, problems) = ConfigurationFile.read(
            text + Self.good, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        #expect(problems.isEmpty)
        let limits = try #require(configuration).limits
        #expect(
            limits == [
                Limit(
                    name: "sends", per: [.sender, .group, .pns], count: 60, period: .seconds(60), burst: 90,
                    isShadow: true,
                    exempt: [.group(GroupName("alarms")!), .user(UserName(canonical: "bob")!)], audienceCost: .call),
                Limit(
                    name: "device", per: [.user, .address], count: 5, period: .seconds(1), burst: 5, audienceCost: .call
                ),
            ])
    }

    @Test("A configuration that protects nothing does not start")
    func protectsNothing() {
        #expect(
            problems("backend: { url: embedded }\npolicy: {}\nauthenticators: []") == [
                "gateway.yaml:3:17: authenticators: must name at least one of: fixed",
                "gateway.yaml:2:9: warning: policy: has no \"send\": nobody may notify anybody",
            ])
        #expect(
            problems("") == [
                "gateway.yaml:1:1: \"backend\" is missing",
                "gateway.yaml:1:1: authenticators: must name at least one of: fixed",
                "gateway.yaml:1:1: \"policy\" is missing: without rules nobody may notify anybody",
            ])
    }

    @Test("What must be there and has no value is a problem, and is not left out in silence")
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
            problems(text, environment: ["WORD": ""]) == [
                "gateway.yaml:1:58: backend.credential.shared-password: must not be empty",
                "gateway.yaml:3:35: policy.send[0].to: must not be empty",
                "gateway.yaml:3:46: policy.tags[0]: \"allow\" is missing",
                "gateway.yaml:5:39: limits[0].rate: must not be empty",
                "gateway.yaml:8:11: limits[1].rate: must not be empty",
            ])
    }

    @Test("Groups stand in \"from\" alone, and reserved tags in no rule")
    func policyMistakes() {
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            policy:
              send: [{ from: "group:staff", to: "group:staff" }, { from: "a b", to: self }]
              tags: [{ user: "*", allow: ["username:*", "a,b"] }]
            """
        #expect(
            problems(text) == [
                "gateway.yaml:4:37: policy.send[0].to: \"group:staff\" is a group; groups stand in \"from\" only, "
                    + "and \"to\" takes audiences",
                "gateway.yaml:4:62: policy.send[1].from: \"a b\" is no user, nor group: and a group, nor *",
                "gateway.yaml:5:30: warning: policy.tags[0].allow: \"username:*\" can never match: username: and from: "
                    + "are reserved",
                "gateway.yaml:5:30: policy.tags[0].allow: \"a,b\" is not a pattern of tags; write letters, digits, _ @ "
                    + "# . : - and *",
            ])
    }

    @Test("Rules that can never match are warnings, and so is a policy that is not enforced")
    func shadowedRules() {
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            identity: { escape: hex }
            policy:
              enforce: false
              send:
                - { from: "group:staff", to: "*" }
                - { from: "group:staff", to: bob }
                - { from: "*", to: self }
                - { from: Alice, to: alice }
                - { from: alice, to: bob }
                - { from: alice, to: "bo*" }
                - { from: self, to: bob }
              tags:
                - { user: "*", allow: ["topic:*"] }
                - { user: "group:staff", allow: ["region:*", "topic:news", "region:x"] }
                - { user: alice, allow: [] }
            """
        #expect(
            problems(text) == [
                "gateway.yaml:5:12: warning: policy.enforce: is false: what the rules would refuse is carried out, and "
                    + "recorded as would-refuse",
                "gateway.yaml:8:7: warning: policy.send[1]: can never match: policy.send[0] covers all of it",
                "gateway.yaml:10:7: warning: policy.send[3]: can never match: policy.send[2] covers all of it",
                "gateway.yaml:12:26: policy.send[5].to: \"bo*\" is no user, nor self, nor audience: and an audience, nor *",
                "gateway.yaml:13:15: policy.send[6].from: \"self\" is no user, nor group: and a group, nor *",
                "gateway.yaml:16:37: warning: policy.tags[1].allow: \"topic:news\" can never match: policy.tags[0] "
                    + "allows all of it already",
                "gateway.yaml:16:37: warning: policy.tags[1].allow: \"region:x\" can never match: policy.tags[1] "
                    + "allows all of it already",
                "gateway.yaml:17:29: warning: policy.tags[2].allow: is empty: the rule can never match",
            ])
    }

    @Test("Audiences hold users, have members, and are named by a rule")
    func audienceMistakes() {
        let many = (0...500).map { "u\($0)" }.joined(separator: ", ")
        let text = """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            identity: { escape: hex }
            audiences:
              oncall: [alice, Bob, "group:staff", "audience:all", "*", ALICE]
              OnCall: [alice]
              on call: [alice]
              empty: []
              none: ~
              many: [\(many)]
              unused: [alice, bob]
            policy:
              send:
                - { from: "*", to: "audience:ONCALL" }
                - { from: "*", to: "audience:other" }
                - { from: "audience:oncall", to: self }
                - { from: alice, to: "audience:oncall" }
            """
        #expect(
            problems(text).map { $0.dropFirst("gateway.yaml:".count) } == [
                "5:24: audiences.oncall[2]: \"group:staff\" is no user; audiences hold users alone, no groups and no audiences",
                "5:39: audiences.oncall[3]: \"audience:all\" is no user; audiences hold users alone, no groups and no audiences",
                "5:55: audiences.oncall[4]: \"*\" is no user; audiences hold users alone, no groups and no audiences",
                "5:60: audiences.oncall[5]: \"alice\" is a member already",
                "6:3: audiences.OnCall: stands more than once, but for its case",
                "7:3: audiences.on call: is no name of an audience; write up to 64 letters, digits, _ . and -",
                "8:10: audiences.empty: must have from 1 to 500 members",
                "9:9: audiences.none: must have from 1 to 500 members",
                "10:9: audiences.many: must have from 1 to 500 members",
                "15:24: policy.send[1].to: \"audience:other\" is none of \"audiences\"",
                "16:15: policy.send[2].from: \"audience:oncall\" is no user, nor group: and a group, nor *",
                "17:7: warning: policy.send[3]: can never match: policy.send[0] covers all of it",
                "8:10: warning: audiences.empty: stands in no rule of policy.send: nobody may send to it",
                "9:9: warning: audiences.none: stands in no rule of policy.send: nobody may send to it",
                "10:9: warning: audiences.many: stands in no rule of policy.send: nobody may send to it",
                "10:9: warning: audiences.many: has 501 members, and the limit \"sends\" admits 60 sends at once: nobody can send to it",
                "11:11: warning: audiences.unused: stands in no rule of policy.send: nobody may send to it",
            ])
    }

    @Test("Everything wrong with a profile and a credential of one's own")
    func profileMistakes() {
        let text = """
            backend:
              url: embedded
              profile:
                from: core
                client: { register-path: /auth/x, notifications-path: /a//b, id-in: [path, path], update-status: { wns: 302, ios: 200 } }
                backend:
                  register-path: /n
                  notifications-path: /n
                  id-in: [path]
                  platforms: { apns: gcm, fcm: a b }
                  pns: { apns: x, fcm: X, mpns: mpns }
                  success: []
                  gone: [200, 404]
                  payload-frames: { apns: -1 }
                  idle: 0s
                  colour: red
              credential: { user-header: X-User, secret-header: x-user, secret: "a b" }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """
        let paths = problems(text).map { $0.split(separator: " ")[1] }
        #expect(
            paths == [
                "backend.profile.client.notifications-path:",
                "backend.profile.client.register-path:",
                "backend.profile.client.id-in:",
                "backend.profile.client.update-status.wns:",
                "backend.profile.client.update-status.ios:",
                "backend.profile.backend:",
                "backend.profile.backend.id-in:",
                "backend.profile.backend.platforms.fcm:",
                "backend.profile.backend.platforms:",
                "backend.profile.backend.pns:",
                "backend.profile.backend.pns.mpns:",
                "backend.profile.backend.success:",
                "backend.profile.backend.gone[0]:",
                "backend.profile.backend.idle:",
                "backend.profile.backend.payload-frames.apns:",
                "backend.profile.backend.colour:",
                "backend.credential.secret-header:",
                "backend.credential.secret:",
                "backend.profile:",
            ])
    }

    @Test(
        "Names of header fields that frame requests, belong to the connection, or are the gateway's own",
        arguments: [
            "Host", "content-length", "TRANSFER-ENCODING", "TE", "Trailer", "Expect", "Connection", "Proxy-Connection",
            "Keep-Alive", "Upgrade", "Proxy-Authorization", "Authorization", "Accept", "Content-Type", "X-Request-Id",
            "Traceparent", "tracestate",
            "Content--Length", "-Host", "TransferEncoding", "X User", "X_User", "X:", "-", "é", "X-User\r\nHost",
        ])
    func reservedFields(field: String) {
        let text = """
            backend: { url: embedded, credential: { user-header: "\(field)", secret-header: X-S, secret: x } }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """
        #expect(problems(text).count == 1)
        #expect(problems(text).allSatisfy { $0.contains("cannot be used as a header field here") })
    }

    @Test("Variables are expanded once, after parsing, and a missing one is a problem at its place")
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
            Issue.record("no shared password")
            return
        }
        #expect(password.isEqual(to: Secret("${OTHER}: {".utf8)))
        #expect(
            problems(text) == [
                "gateway.yaml:3:34: backend.credential.shared-password: the environment variable WORD is not set",
                "gateway.yaml:3:34: backend.credential.shared-password: must not be empty",
            ])
    }

    @Test("YAML that cannot be read says where")
    func notYAML() {
        #expect(problems("backend: {\n  url: [").count == 1)
        #expect(problems("a: 1\na: 2\n").first?.hasPrefix("gateway.yaml:1:1: stands more than once") == true)
    }
}

/// An authenticator without settings.
enum FixedPlugin: AuthenticatorPlugin {
    static let name: PluginName = "fixed"
    static let takes: Set<CredentialKind> = [.password]

    static func readSettings(_ reader: ConfigurationReader) -> Bool? { true }
    static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}
