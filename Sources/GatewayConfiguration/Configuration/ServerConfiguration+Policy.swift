package import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension ServerConfiguration {
    /// Reads `policy`: who may notify whom, and who may register which tags. Returns nil if it is missing.
    static func readPolicy(
        _ root: ConfigurationReader, _ names: NameRules, audiences: [AudienceName: [UserName]],
        fences: (files: [FenceFile], areas: [FenceName: Fence])
    ) -> Policy? {
        guard let reader = root.mapping("policy") else {
            root.report("\"policy\" is missing; without rules, all sends are rejected")
            return nil
        }
        defer { reader.finish() }
        // Whether sends that the rules do not allow are rejected or only recorded; default: true.
        let isEnforced = reader.bool("enforce") ?? true
        if !isEnforced {
            reader.report(
                "enforce", "is false: sends that the rules would reject are forwarded, and recorded as would-refuse",
                severity: .warning)
        }
        // The rules of who may notify whom. The first rule that matches a send allows it; without a match it is
        // rejected.
        let send = readSendRules(
            reader, names, Targets(audiences: Set(audiences.keys), fences: Set(fences.files.map(\.name))))
        // The rules of who may register which tags beyond their own username tag.
        let tags = readTagRules(reader, names)
        if reader.node("send") == nil {
            reader.report("has no \"send\"; all sends are rejected", severity: .warning)
        }
        return Policy(
            isEnforced: isEnforced, send: send, tags: tags,
            // The treatment of a registration with tags outside the rules; default: refuse.
            tagsNotAllowed: reader.word("tags-not-allowed", of: Policy.TagsNotAllowed.self) ?? .refuse,
            // Whether a device may change its owner; default: allow.
            ownershipTransfer: reader.word("hand-over", of: Policy.OwnershipTransfer.self) ?? .allow,
            audiences: audiences, fences: fences.areas)
    }

    /// The names that rules for sends may refer to.
    private struct Targets {
        var audiences: Set<AudienceName>
        var fences: Set<FenceName>
    }

    private static func readSendRules(
        _ policy: ConfigurationReader, _ names: NameRules, _ targets: Targets
    ) -> [Policy.SendRule] {
        var read: [(rule: Policy.SendRule, path: String)] = []
        for value in policy.sequence("send") ?? [] {
            let reader = policy.reader(of: value.node, under: value.path)
            guard let rule = sendRule(reader, names, targets) else { continue }
            if let earlier = read.first(where: { $0.rule.includes(rule) }) {
                reader.report("can never match; \(earlier.path) includes it", severity: .warning)
            }
            read.append((rule, reader.path))
        }
        return read.map(\.rule)
    }

    private static func sendRule(
        _ reader: ConfigurationReader, _ names: NameRules, _ targets: Targets
    ) -> Policy.SendRule? {
        defer { reader.finish() }
        let from = reader.required("from").flatMap { subject($0, "from", reader, names) }
        let to = reader.required("to").flatMap { recipient($0, reader, names, targets.audiences) }
        // The fence that must contain the position that the sender states; default: none.
        let within = reader.has("within") ? reader.required("within") : reader.string("within")
        let fence = within.flatMap { FenceName($0) }.flatMap { targets.fences.contains($0) ? $0 : nil }
        if let within, fence == nil { reader.report("within", "\"\(within)\" is not defined in \"fences\"") }
        guard let from, let to, reader.has("within") == (fence != nil) else { return nil }
        return Policy.SendRule(from: from, to: to, within: fence)
    }

    private static func readTagRules(_ policy: ConfigurationReader, _ names: NameRules) -> [Policy.TagRule] {
        var read: [(rule: Policy.TagRule, path: String)] = []
        for value in policy.sequence("tags") ?? [] {
            let reader = policy.reader(of: value.node, under: value.path)
            guard let rule = tagRule(reader, names) else { continue }
            for (index, pattern) in rule.allow.enumerated() {
                let before = read + [(Policy.TagRule(user: rule.user, allow: Array(rule.allow[..<index])), reader.path)]
                let earlier = before.first { earlier in
                    earlier.rule.user.includes(rule.user) && earlier.rule.allow.contains { $0.includes(pattern) }
                }
                guard let earlier else { continue }
                reader.report(
                    "allow", "\"\(pattern)\" can never match; \(earlier.path) already includes it",
                    severity: .warning)
            }
            read.append((rule, reader.path))
        }
        return read.map(\.rule)
    }

    private static func tagRule(_ reader: ConfigurationReader, _ names: NameRules) -> Policy.TagRule? {
        defer { reader.finish() }
        let user = reader.required("user").flatMap { subject($0, "user", reader, names) }
        if reader.node("allow") == nil { reader.report("\"allow\" is missing") }
        let texts = reader.strings("allow")
        if texts?.isEmpty == true { reader.report("allow", "is empty; the rule can never match", severity: .warning) }
        let allow = (texts ?? []).compactMap { pattern(in: $0, reader) }
        return user.map { Policy.TagRule(user: $0, allow: allow) }
    }

    private static func pattern(in text: String, _ reader: ConfigurationReader) -> TagPattern? {
        guard let pattern = TagPattern(text) else {
            reader.report("allow", "\"\(text)\" is not a tag pattern; use letters, digits, _ @ # . : - and *")
            return nil
        }
        if pattern.isReservedOnly {
            reader.report(
                "allow", "\"\(text)\" can never match: username: and from: are reserved", severity: .warning)
        }
        return pattern
    }

    static func subject(
        _ text: String, _ name: String, _ reader: ConfigurationReader, _ names: NameRules
    ) -> Policy.Subject? {
        if text == "*" { return .anyUser }
        if let group = text.droppingPrefix("group:") {
            if let group = GroupName(group) { return .group(group) }
        } else if let user = user(text, name, reader, names) {
            return .user(user)
        }
        reader.report(name, "\"\(text)\" is not a user name, group:NAME or *\(names.advice(on: text))")
        return nil
    }

    private static func recipient(
        _ text: String, _ reader: ConfigurationReader, _ names: NameRules, _ audiences: Set<AudienceName>
    ) -> Policy.Recipient? {
        if text == "*" { return .anyUser }
        if text == "self" { return .sender }
        if text.hasPrefix("group:") {
            reader.report(
                "to", "\"\(text)\" is a group; groups are allowed in \"from\" only, use an audience in \"to\"")
            return nil
        }
        if let name = AudienceName.named(in: text) {
            if let audience = AudienceName(name), audiences.contains(audience) { return .audience(audience) }
            reader.report("to", "\"\(text)\" is not defined in \"audiences\"")
            return nil
        }
        guard let user = user(text, "to", reader, names) else {
            reader.report(
                "to", "\"\(text)\" is not a user name, self, audience:NAME or *\(names.advice(on: text))")
            return nil
        }
        return .user(user)
    }

    /// Returns the user of the name; nil for a text with another meaning.
    private static func user(
        _ text: String, _ name: String, _ reader: ConfigurationReader, _ names: NameRules
    ) -> UserName? {
        guard text != "self", let user = names.configuredUser(text) else { return nil }
        if let meaning = names.meaning(of: text, user) { reader.report(name, meaning, severity: .note) }
        return user
    }
}

extension ServerConfiguration {
    /// Returns the rules of a gateway of this configuration.
    ///
    /// - Parameters:
    ///   - chain: The created authenticators.
    ///   - limiter: The limiter that counts the calls.
    ///   - throttle: The rate limit of failed logins.
    ///   - passwordCache: The cache of password verification results.
    ///   - sends: The store of idempotent sends.
    package func rules(
        chain: AuthenticatorChain, limiter: Limiter, throttle: LoginThrottle, passwordCache: PasswordCache,
        sends: IdempotencyStore
    ) -> CompiledConfiguration {
        var rules = CompiledConfiguration(
            names: names, handles: backend.handles, client: backend.profile.client,
            upstreams: backends.map(\.upstreamRules), messages: backend.messages,
            authenticators: chain, authentication: authentication, policy: policy, limiter: limiter,
            throttle: throttle, passwordCache: passwordCache, sends: sends, callsInFlight: callsPerCaller,
            secureSends: self.sends.secure)
        rules.tracing = tracing?.sampling
        return rules
    }
}

extension ServerConfiguration.BackendSection {
    /// The rules of requests to this upstream.
    fileprivate var upstreamRules: UpstreamRules {
        let (seconds, attoseconds) = timeout.components
        return UpstreamRules(
            name: name, services: services, backend: profile.backend, hub: hub, credential: credential,
            host: address.hostField, deadline: .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
