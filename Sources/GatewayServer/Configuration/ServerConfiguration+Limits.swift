internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    static func readLimits(_ root: ConfigurationReader) -> [Limit] {
        guard let values = root.sequence("limits") else { return Limit.defaults }
        if values.isEmpty { root.report("limits", "is empty: nothing is limited", severity: .warning) }
        var limits: [Limit] = []
        for value in values {
            let reader = root.reader(of: value.node, under: value.path)
            guard let limit = readLimit(reader) else { continue }
            if limits.contains(where: { $0.name == limit.name }) {
                reader.report("name", "\"\(limit.name)\" is the name of another limit")
            }
            limits.append(limit)
        }
        return limits
    }

    private static func readLimit(_ reader: ConfigurationReader) -> Limit? {
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
        guard let name, let keys, let rate else { return nil }
        return Limit(name: name, per: keys, count: rate.count, period: rate.period, burst: burst)
    }

    /// What a limit counts by: one key or several.
    private static func readKeys(_ reader: ConfigurationReader) -> [Limit.Key]? {
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
        guard keys == [.address] || !keys.contains(.address) else {
            reader.report("per", "address stands alone: it is asked before it is known who calls")
            return nil
        }
        return keys
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
