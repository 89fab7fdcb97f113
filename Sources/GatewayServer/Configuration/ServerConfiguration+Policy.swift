internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    static func readPolicy(_ root: ConfigurationReader, _ names: NameRules) -> Policy? {
        guard let reader = root.mapping("policy") else {
            root.report("\"policy\" is missing: without rules nobody may notify anybody")
            return nil
        }
        defer { reader.finish() }
        // Who may notify whom; the first rule that covers a send allows it, no rule is a refusal.
        let send = (reader.sequence("send") ?? []).compactMap { value in
            sendRule(reader.reader(of: value.node, under: value.path), names)
        }
        // Who may register which tags beyond the own username tag.
        let tags = (reader.sequence("tags") ?? []).compactMap { value in
            tagRule(reader.reader(of: value.node, under: value.path), names)
        }
        if reader.node("send") == nil {
            reader.report("has no \"send\": nobody may notify anybody", severity: .warning)
        }
        return Policy(
            send: send, tags: tags,
            // What becomes of a registration with tags outside the rules; refuse unless given.
            tagsNotAllowed: reader.word("tags-not-allowed", of: Policy.TagsNotAllowed.self) ?? .refuse,
            // Whether a device may change its owner; allow unless given.
            handOver: reader.word("hand-over", of: Policy.HandOver.self) ?? .allow)
    }

    private static func sendRule(_ reader: ConfigurationReader, _ names: NameRules) -> Policy.SendRule? {
        defer { reader.finish() }
        let from = reader.required("from").flatMap { subject($0, "from", reader, names) }
        let to = reader.required("to").flatMap { recipient($0, reader, names) }
        guard let from, let to else { return nil }
        return Policy.SendRule(from: from, to: to)
    }

    private static func tagRule(_ reader: ConfigurationReader, _ names: NameRules) -> Policy.TagRule? {
        defer { reader.finish() }
        let user = reader.required("user").flatMap { subject($0, "user", reader, names) }
        if reader.node("allow") == nil { reader.report("\"allow\" is missing") }
        let allow = (reader.strings("allow") ?? []).compactMap { pattern(in: $0, reader) }
        return user.map { Policy.TagRule(user: $0, allow: allow) }
    }

    private static func pattern(in text: String, _ reader: ConfigurationReader) -> TagPattern? {
        guard let pattern = TagPattern(text) else {
            reader.report("allow", "\"\(text)\" is not a pattern of tags; write letters, digits, _ @ # . : - and *")
            return nil
        }
        if pattern.text.hasPrefix("username:") || pattern.text.hasPrefix("from:") {
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
        } else if let user = names.canonical(text) {
            return .user(user)
        }
        reader.report(name, "\"\(text)\" is no user, nor group: and a group, nor *")
        return nil
    }

    private static func recipient(
        _ text: String, _ reader: ConfigurationReader, _ names: NameRules
    ) -> Policy.Recipient? {
        if text == "*" { return .anyUser }
        if text == "self" { return .sender }
        if text.hasPrefix("group:") {
            reader.report("to", "\"\(text)\" is a group; groups stand in \"from\" only")
            return nil
        }
        guard let user = names.canonical(text) else {
            reader.report("to", "\"\(text)\" is no user, nor self, nor *")
            return nil
        }
        return .user(user)
    }
}
