internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    static func readPolicy(
        _ root: ConfigurationReader, _ names: NameRules, audiences: [AudienceName: [UserName]]
    ) -> Policy? {
        guard let reader = root.mapping("policy") else {
            root.report("\"policy\" is missing: without rules nobody may notify anybody")
            return nil
        }
        defer { reader.finish() }
        // Whether what the rules do not allow is refused, or only recorded; true unless given.
        let isEnforced = reader.bool("enforce") ?? true
        if !isEnforced {
            reader.report(
                "enforce", "is false: what the rules would refuse is carried out, and recorded as would-refuse",
                severity: .warning)
        }
        // Who may notify whom; the first rule that covers a send allows it, no rule is a refusal.
        let send = readSendRules(reader, names, Set(audiences.keys))
        // Who may register which tags beyond the own username tag.
        let tags = readTagRules(reader, names)
        if reader.node("send") == nil {
            reader.report("has no \"send\": nobody may notify anybody", severity: .warning)
        }
        return Policy(
            isEnforced: isEnforced, send: send, tags: tags,
            // What becomes of a registration with tags outside the rules; refuse unless given.
            tagsNotAllowed: reader.word("tags-not-allowed", of: Policy.TagsNotAllowed.self) ?? .refuse,
            // Whether a device may change its owner; allow unless given.
            ownershipTransfer: reader.word("hand-over", of: Policy.OwnershipTransfer.self) ?? .allow,
            audiences: audiences)
    }

    private static func readSendRules(
        _ policy: ConfigurationReader, _ names: NameRules, _ audiences: Set<AudienceName>
    ) -> [Policy.SendRule] {
        var read: [(rule: Policy.SendRule, path: String)] = []
        for value in policy.sequence("send") ?? [] {
            let reader = policy.reader(of: value.node, under: value.path)
            guard let rule = sendRule(reader, names, audiences) else { continue }
            if let earlier = read.first(where: { $0.rule.includes(rule) }) {
                reader.report("can never match: \(earlier.path) covers all of it", severity: .warning)
            }
            read.append((rule, reader.path))
        }
        return read.map(\.rule)
    }

    private static func sendRule(
        _ reader: ConfigurationReader, _ names: NameRules, _ audiences: Set<AudienceName>
    ) -> Policy.SendRule? {
        defer { reader.finish() }
        let from = reader.required("from").flatMap { subject($0, "from", reader, names) }
        let to = reader.required("to").flatMap { recipient($0, reader, names, audiences) }
        guard let from, let to else { return nil }
        return Policy.SendRule(from: from, to: to)
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
                    "allow", "\"\(pattern)\" can never match: \(earlier.path) allows all of it already",
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
        if texts?.isEmpty == true { reader.report("allow", "is empty: the rule can never match", severity: .warning) }
        let allow = (texts ?? []).compactMap { pattern(in: $0, reader) }
        return user.map { Policy.TagRule(user: $0, allow: allow) }
    }

    private static func pattern(in text: String, _ reader: ConfigurationReader) -> TagPattern? {
        guard let pattern = TagPattern(text) else {
            reader.report("allow", "\"\(text)\" is not a pattern of tags; write letters, digits, _ @ # . : - and *")
            return nil
        }
        if pattern.isReservedOnly {
            reader.report(
                "allow", "\"\(text)\" can never match: username: and from: are reserved", severity: .warning)
        }
        return pattern
    }

    private static func subject(
        _ text: String, _ name: String, _ reader: ConfigurationReader, _ names: NameRules
    ) -> Policy.Subject? {
        if text == "*" { return .anyUser }
        if let group = text.droppingPrefix("group:") {
            if let group = GroupName(group) { return .group(group) }
        } else if let user = user(text, names) {
            return .user(user)
        }
        reader.report(name, "\"\(text)\" is no user, nor group: and a group, nor *")
        return nil
    }

    private static func recipient(
        _ text: String, _ reader: ConfigurationReader, _ names: NameRules, _ audiences: Set<AudienceName>
    ) -> Policy.Recipient? {
        if text == "*" { return .anyUser }
        if text == "self" { return .sender }
        if text.hasPrefix("group:") {
            reader.report(
                "to", "\"\(text)\" is a group; groups stand in \"from\" only, and \"to\" takes audiences")
            return nil
        }
        if let name = AudienceName.named(in: text) {
            if let audience = AudienceName(name), audiences.contains(audience) { return .audience(audience) }
            reader.report("to", "\"\(text)\" is none of \"audiences\"")
            return nil
        }
        guard let user = user(text, names) else {
            reader.report("to", "\"\(text)\" is no user, nor self, nor audience: and an audience, nor *")
            return nil
        }
        return .user(user)
    }

    /// The user of the name; nil for what has another meaning here, or looks as if it had: escaping would make a name of it.
    private static func user(_ text: String, _ names: NameRules) -> UserName? {
        text == "self" || text.contains("*") || text.contains(":") ? nil : names.canonical(text)
    }
}
