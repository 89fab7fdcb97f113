internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    static func readLimits(_ root: ConfigurationReader, _ names: NameRules) -> [Limit] {
        guard let values = root.sequence("limits") else { return Limit.defaults }
        if values.count > Limit.most { root.report("limits", "must be at most \(Limit.most)") }
        if values.isEmpty { root.report("limits", "is empty: nothing is limited", severity: .warning) }
        var limits: [Limit] = []
        for value in values {
            let reader = root.reader(of: value.node, under: value.path)
            guard let limit = readLimit(reader, names) else { continue }
            if limits.contains(where: { $0.name == limit.name }) {
                reader.report("name", "\"\(limit.name)\" is the name of another limit")
            }
            limits.append(limit)
        }
        return limits
    }

    private static func readLimit(_ reader: ConfigurationReader, _ names: NameRules) -> Limit? {
        defer { reader.finish() }
        // The name, as answers have it.
        let name = reader.required("name")
        if let name, !name.utf8.allSatisfy({ $0.isNameByte }) || name.utf8.count > 64 {
            reader.report("name", "\"\(name)\" is not a name; write up to 64 letters, digits, _ and -")
        }
        let keys = readKeys(reader)
        // How many in which time, such as 60/min.
        let rate = reader.required("rate").flatMap { text -> Rate? in
            let rate = Rate(text)
            if rate == nil {
                reader.report(
                    "rate", "\"\(text)\" is not a rate; write a number, a slash, and s, min, h or d")
            }
            return rate
        }
        // How many at once after a pause; the rate's count unless given.
        let burst = reader.integer("burst", in: 1...1_000_000)
        // Whether it only shows what it would refuse; false unless given.
        let isShadow = reader.bool("shadow") ?? false
        // Callers whom it does not count: users, and group: with a group.
        let exempt = readExempt(reader, names)
        // What a send to an audience costs: member, one for each member, or call, one in all.
        let cost = reader.word("cost", of: Limit.AudienceCost.self)
        guard let name, let keys, let rate else { return nil }
        let limit = Limit(
            name: name, per: keys, count: rate.count, period: rate.period, burst: burst, isShadow: isShadow,
            exempt: exempt, audienceCost: cost)
        if limit.countsLogins, !exempt.isEmpty {
            reader.report("exempt", "has no meaning where address alone is counted: nobody knows yet who calls")
        }
        if cost != nil, limit.countsLogins || keys.contains(.recipient) {
            let reason =
                limit.countsLogins
                ? "address alone counts logins, not sends"
                : "by recipient each member of an audience is asked for itself"
            reader.report("cost", "has no meaning here: \(reason)")
        }
        return limit
    }

    private static func readExempt(_ reader: ConfigurationReader, _ names: NameRules) -> [Policy.Subject] {
        var exempt: [Policy.Subject] = []
        for value in reader.sequence("exempt") ?? [] {
            guard let text = reader.string(of: value.node, under: value.path) else { continue }
            let subject: Policy.Subject? =
                if text.hasPrefix("group:") {
                    GroupName(String(text.dropFirst(6))).map(Policy.Subject.group)
                } else if text.contains("*") || text.contains(":") {
                    nil
                } else {
                    // Escaping would make a user of anything else.
                    names.canonical(text).map(Policy.Subject.user)
                }
            guard let subject else {
                reader.report(
                    at: value.node.location, under: value.path, "\"\(text)\" is no user, nor group: and a group")
                continue
            }
            exempt.append(subject)
        }
        return exempt
    }

    /// What a limit counts by: one key or several.
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
            reader.report("per", "must be one or several different ones of: \(allowed)")
            return nil
        }
        return Set(keys)
    }
}

/// So many in a time, as configurations write it: `60/min`.
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
