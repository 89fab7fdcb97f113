import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("User names in the configuration")
struct ConfiguredNameTests {
    /// Returns a configuration that names one user in every place that takes the name of a user.
    private func read(_ name: String, _ identity: String) -> (ServerConfiguration?, [ConfigurationProblem]) {
        let quoted = #""\#(name)""#
        return ConfigurationFile.read(
            """
            backend: { hub: { connection-string: "Endpoint=sb://127.0.0.1/;SharedAccessKeyName=S;SharedAccessKey=QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY=", name: n } }
            authenticators: [{ fixed: { users: [\(quoted)] } }]
            identity: \(identity)
            audiences: { oncall: [\(quoted)] }
            policy:
              send: [{ from: \(quoted), to: \(quoted) }]
              tags: [{ user: \(quoted), allow: ["topic:*"] }]
            limits: [{ name: sends, per: sender, rate: 1/s, exempt: [\(quoted)] }]
            console: { address: "127.0.0.1:8443", viewers: [\(quoted)], operators: [\(quoted)] }
            sends: { secure: [\(quoted)] }
            """, file: "gateway.yaml", directory: "/etc/notify-gateway", catalog: PluginCatalog([FixedPlugin.self]))
    }

    /// Returns the users that the configuration means, by place.
    private func users(_ configuration: ServerConfiguration) -> [String: UserName] {
        var users: [String: UserName] = [:]
        func subject(_ place: String, _ subject: Policy.Subject?) {
            if case .user(let user)? = subject { users[place] = user }
        }
        let policy = configuration.policy
        subject("from", policy.send.first?.from)
        subject("tags", policy.tags.first?.user)
        if case .user(let user)? = policy.send.first?.to { users["to"] = user }
        users["audience"] = policy.audiences.values.first?.first
        subject("exempt", configuration.limits.first?.exempt.first)
        subject("viewers", configuration.console?.viewers.first)
        subject("operators", configuration.console?.operators.first)
        subject("secure", configuration.sends.secure?.senders.first)
        return users
    }

    @Test(
        "Every place means the same user by the account's name and by the canonical name",
        arguments: [
            ("zo\u{EB}", "zo_xc3_xab"), ("ZO\u{CB}", "zo_xc3_xab"), ("zo_xc3_xab", "zo_xc3_xab"),
            ("EX\\\\zo\u{EB}", "zo_xc3_xab"), ("auth0|1", "auth0_x7c1"), ("auth0_x7c1", "auth0_x7c1"),
            ("max_xavier", "max_x5fxavier"), ("max_x5fxavier", "max_x5fxavier"),
            ("system_x3asender", "system_x3asender"),
        ])
    func bothSpellings(_ name: String, _ canonical: String) throws {
        let (configuration, problems) = read(name, #"{ escape: hex, strip: ['EX\'] }"#)
        let read = try #require(configuration, "\(problems)")
        let user = try #require(UserName(canonical: canonical))
        let users = users(read)
        #expect(users.count == 8 && users.values.allSatisfy { $0 == user }, "\(users)")
        let scope = try #require(read.authenticators.first).scope
        #expect(scope.contains(user) && !scope.contains(UserName(canonical: "somebody")))
        // `check` says at each of the nine places which user the name means.
        let notes = problems.filter { $0.severity == .note }
        let paths = notes.map(\.path).sorted()
        #expect(
            paths == [
                "audiences.oncall[0]", "authenticators[0].fixed.users", "console.operators", "console.viewers",
                "limits[0].exempt[0]", "policy.send[0].from", "policy.send[0].to", "policy.tags[0].user",
                "sends.secure",
            ])
        #expect(notes.allSatisfy { $0.message.contains("means the user \(canonical), whose account is \"") })
    }

    @Test("A name that is shown as it is written causes no note")
    func plainNames() {
        for identity in ["{ escape: hex }", "{}", #"{ strip: ["@example.com"] }"#] {
            #expect(read("alice", identity).1.filter { $0.severity == .note }.isEmpty)
        }
        #expect(read("Alice@example.com", #"{ strip: ["@example.com"] }"#).1.filter { $0.severity == .note }.isEmpty)
        // Without escaping, this is a name like any other.
        let (configuration, problems) = read("zo_xc3_xab", "{}")
        #expect(configuration.map { Set(users($0).values.map(\.text)) } == ["zo_xc3_xab"], "\(problems)")
    }

    @Test("A name that would have another meaning is refused with the spelling that has not")
    func colons() {
        let messages = read("system:sender", "{ escape: hex }").1.filter { $0.severity == .error }.map(\.description)
        // The pattern of an authenticator has no other meanings.
        #expect(messages.count == 8, "\(messages)")
        #expect(messages.allSatisfy { $0.hasSuffix("; for the user of that name write \"system_x3asender\"") })
        let plain = read("system:sender", "{}").1.map(\.description)
        #expect(plain.allSatisfy { !$0.contains("for the user of that name") }, "\(plain)")
    }
}
