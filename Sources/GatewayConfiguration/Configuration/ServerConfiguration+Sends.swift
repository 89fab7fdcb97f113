internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads `sends`: which sends are secure, and how long and how many of their texts are kept.
    ///
    /// - Parameter backends: The upstreams; none if their section is invalid.
    static func readSends(
        _ reader: ConfigurationReader?, _ names: NameRules, _ backends: [BackendSection]
    ) -> SendsSection {
        var section = SendsSection()
        guard let reader else { return section }
        defer { reader.finish() }
        // The senders whose sends are secure: all, requested for those who ask for it, or a list of users and groups.
        let senders = readSecureSenders(reader, names)
        // The time for which a text can be read; default: 7d.
        let lifetime =
            reader.duration("lifetime", in: .seconds(60) ... .seconds(90 * 86_400))
            ?? SecureSendRules.standardLifetime
        // The maximum number of stored texts; default: 1000000.
        section.bounds.texts = reader.integer("texts", in: 1...10_000_000) ?? section.bounds.texts
        // The maximum size of all stored texts; default: 1GiB.
        section.bounds.bytes = reader.byteCount("size") ?? section.bounds.bytes
        // The maximum number of stored texts of one recipient; default: 1000.
        section.bounds.textsPerUser = reader.integer("texts-per-user", in: 1...1_000_000) ?? section.bounds.textsPerUser
        // The maximum size of the stored texts of one recipient; default: 1MiB.
        section.bounds.bytesPerUser = reader.byteCount("size-per-user") ?? section.bounds.bytesPerUser
        section.secure = senders.map { SecureSendRules(senders: $0, lifetime: lifetime) }
        if section.secure != nil, !backends.allSatisfy(\.pushesIDs) {
            reader.report(
                "secure",
                "needs \"backend.hub\" for every platform: a notify-users backend writes the text into the notification "
                    + "itself")
        }
        return section
    }

    /// Returns the senders whose sends are all secure; nil if there are no secure sends.
    private static func readSecureSenders(_ reader: ConfigurationReader, _ names: NameRules) -> [RuleSubject]? {
        guard let node = reader.node("secure") else {
            reader.report("\"secure\" is missing; use all, requested, or a list of users and group:NAME")
            return nil
        }
        if case .scalar("all", _) = node.shape { return [.anyUser] }
        if case .scalar("requested", _) = node.shape { return [] }
        guard case .sequence = node.shape else {
            reader.report("secure", "must be all, requested, or a list of users and group:NAME")
            return nil
        }
        let texts = reader.strings("secure") ?? []
        if texts.isEmpty { reader.report("secure", "is empty; use requested if senders ask for it") }
        return texts.compactMap { text in
            guard text != "*" else {
                reader.report("secure", "\"*\" is not a user name or group:NAME; use the word all")
                return nil
            }
            return subject(text, "secure", reader, names)
        }
    }
}

extension ServerConfiguration.BackendSection {
    /// Whether the gateway writes the payloads of pushes itself, so that they can contain an id in place of a text.
    var pushesIDs: Bool { hub != nil }
}
