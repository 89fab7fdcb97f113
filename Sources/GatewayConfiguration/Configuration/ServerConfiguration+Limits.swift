internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// Reads `limits`: the rate limits. Default: `Limit.defaults`.
    static func readLimits(_ root: ConfigurationReader, _ names: NameRules) -> [Limit] {
        guard let values = root.sequence("limits") else { return Limit.defaults }
        if values.count > Limit.maximumCount { root.report("limits", "must be at most \(Limit.maximumCount)") }
        if values.isEmpty { root.report("limits", "is empty: nothing is limited", severity: .warning) }
        var limits: [Limit] = []
        for value in values {
            let reader = root.reader(of: value.node, under: value.path)
            guard let limit = readLimit(reader, names) else { continue }
            if limits.contains(where: { $0.name == limit.name }) {
                reader.report("name", "\"\(limit.name)\" is already the name of another limit")
            }
            limits.append(limit)
        }
        return limits
    }

    private static func readLimit(_ reader: ConfigurationReader, _ names: NameRules) -> Limit? {
        defer { reader.finish() }
        // The name, as responses contain it.
        let name = reader.required("name")
        if let name, !name.utf8.allSatisfy({ $0.isNameByte }) || name.utf8.count > 64 {
            reader.report("name", "\"\(name)\" is not a limit name; use up to 64 letters, digits, _ and -")
        }
        let keys = readKeys(reader)
        // The number of calls per period, for example 60/min.
        let rate = reader.required("rate").flatMap { text -> Rate? in
            let rate = Rate(text)
            if rate == nil {
                reader.report(
                    "rate", "\"\(text)\" is not a rate; use a number, a slash, and s, min, h or d")
            }
            return rate
        }
        // The number of calls at once after a pause; default: the count of the rate.
        let burst = reader.integer("burst", in: 1...1_000_000)
        // Whether the limit only records what it would reject; default: false.
        let isShadow = reader.bool("shadow") ?? false
        // The callers that are not counted: users, and groups as `group:` and a name.
        let exempt = readExempt(reader, names)
        // The cost of a send to an audience: `member`, one per member, or `call`, one in total.
        let cost = reader.word("cost", of: Limit.AudienceCost.self)
        guard let name, let keys, let rate else { return nil }
        let limit = Limit(
            name: name, per: keys, count: rate.count, period: rate.period, burst: burst, isShadow: isShadow,
            exempt: exempt, audienceCost: cost)
        if limit.countsLogins, !exempt.isEmpty {
            reader.report("exempt", "does not apply to a limit by address alone: the caller is not known yet")
        }
        if cost != nil, limit.countsLogins || keys.contains(.recipient) {
            let reason =
                limit.countsLogins
                ? "a limit by address alone counts logins, not sends"
                : "a limit by recipient counts each audience member separately"
            reader.report("cost", "does not apply: \(reason)")
        }
        return limit
    }

    private static func readExempt(_ reader: ConfigurationReader, _ names: NameRules) -> [Policy.Subject] {
        var exempt: [Policy.Subject] = []
        for value in reader.sequence("exempt") ?? [] {
            guard let text = reader.string(of: value.node, under: value.path) else { continue }
            let user = names.configuredUser(text)
            let group = text.droppingPrefix("group:").flatMap { GroupName($0) }
            guard let subject = group.map(Policy.Subject.group) ?? user.map(Policy.Subject.user) else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "\"\(text)\" is not a user name or group:NAME\(names.advice(on: text))")
                continue
            }
            if let meaning = user.flatMap({ names.meaning(of: text, $0) }) {
                reader.report(at: value.node.location, under: value.path, meaning, severity: .note)
            }
            exempt.append(subject)
        }
        return exempt
    }

    /// Reads the keys that a limit counts by: one or several.
    private static func readKeys(_ reader: ConfigurationReader) -> Set<Limit.Key>? {
        guard let node = reader.node("per") else {
            reader.report("\"per\" is missing")
            return nil
        }
        let words: [String]
        switch node.shape {
        case .scalar(let word, _): words = [word]
        case .sequence: words = reader.strings("per") ?? []
        case .mapping: words = []
        }
        let keys = words.compactMap(Limit.Key.init)
        guard !keys.isEmpty, keys.count == words.count, Set(keys).count == keys.count else {
            let allowed = Limit.Key.allCases.map(\.rawValue).joined(separator: ", ")
            reader.report("per", "must be one or more different keys of: \(allowed)")
            return nil
        }
        return Set(keys)
    }
}

/// A number per period, as the configuration writes it: `60/min`.
private struct Rate {
    let count: Int
    let period: Duration

    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000_000).contains(count) else { return nil }
        self.count = count
        switch parts[1] {
        case "s": period = .seconds(1)
        case "min": period = .seconds(60)
        case "h": period = .seconds(3600)
        case "d": period = .seconds(86_400)
        default: return nil
        }
    }
}

extension UInt8 {
    fileprivate var isNameByte: Bool {
        switch self | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default:
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || self == UInt8(ascii: "_")
                || self == UInt8(ascii: "-")
        }
    }
}
