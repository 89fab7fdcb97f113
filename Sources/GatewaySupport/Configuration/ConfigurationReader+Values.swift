// Typed values. Each function returns nil where the name is absent, so that the caller applies its default. Each also
// returns nil for an invalid value and reports it, so that reading continues and finds the next problem.

extension ConfigurationReader {
    /// Returns text, quoted or not.
    public func string(_ name: String) -> String? {
        node(name).flatMap { string(of: $0, under: name) }
    }

    /// Returns the text of a node that was obtained from this mapping.
    public func string(of node: ConfigurationNode, under name: String) -> String? {
        guard case .scalar(let text, _) = node.shape else {
            report(at: node.location, under: name, "must be text")
            return nil
        }
        return text
    }

    /// Returns text that must be present and not empty.
    public func required(_ name: String) -> String? {
        guard let node = node(name) else {
            // Null is reported too: an omitted limit or credential would otherwise go unnoticed.
            if has(name) { report(name, "must not be empty") } else { report("\"\(name)\" is missing") }
            return nil
        }
        guard let text = string(of: node, under: name) else { return nil }
        if text.isEmpty { report(name, "must not be empty") }
        return text.isEmpty ? nil : text
    }

    /// Returns `true` or `false`.
    public func bool(_ name: String) -> Bool? {
        guard let node = node(name) else { return nil }
        switch node.shape {
        case .scalar("true", isPlain: true): return true
        case .scalar("false", isPlain: true): return false
        default:
            report(name, "must be true or false")
            return nil
        }
    }

    /// Returns a whole number within the range.
    public func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let node = node(name) else { return nil }
        guard case .scalar(let text, isPlain: true) = node.shape, let number = Int(text), range.contains(number) else {
            report(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// Returns one of the cases of an enumeration, read by its raw value.
    public func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, of type: Word.Type
    ) -> Word? where Word.RawValue == String {
        guard let text = string(name) else { return nil }
        guard let word = Word(rawValue: text) else {
            let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
            report(name, "\(quoted(text)) is not one of: \(allowed)")
            return nil
        }
        return word
    }

    /// Returns a path. A relative path is resolved against the directory of the file.
    public func path(_ name: String) -> String? {
        string(name).map(absolute)
    }

    /// Returns an absolute path unchanged and a relative one with the directory of the file in front.
    /// The mapping names the file from then on.
    public func absolute(_ path: String) -> String {
        let path = path.hasPrefix("/") || directory.isEmpty ? path : "\(directory)/\(path)"
        named.add(path)
        return path
    }

    /// Returns a list of text.
    public func strings(_ name: String) -> [String]? {
        sequence(name)?.compactMap { string(of: $0.node, under: $0.path) }
    }

    /// Returns a number of bytes, written as a whole number alone or followed by `KiB`, `MiB` or `GiB`.
    public func byteCount(_ name: String) -> Int? {
        guard let text = string(name) else { return nil }
        let digits = text.prefix(while: \.isASCIIDigit)
        let units = ["": 0, "KiB": 10, "MiB": 20, "GiB": 30]
        guard let number = Int(digits), let shift = units[String(text.dropFirst(digits.count))],
            number <= Int.max >> shift
        else {
            report(name, "\(quoted(text)) is not a size; write a number of bytes, or a number and KiB, MiB or GiB")
            return nil
        }
        return number << shift
    }

    /// Returns a duration, written as a whole number followed by `ms`, `s`, `m` or `min`, `h`, or `d`.
    public func duration(_ name: String, in range: ClosedRange<Duration>) -> Duration? {
        guard let text = string(name) else { return nil }
        guard let duration = Duration(configured: text) else {
            report(name, "\(quoted(text)) is not a time; write a number and ms, s, min, h or d, such as 30s")
            return nil
        }
        guard range.contains(duration) else {
            report(name, "must be from \(range.lowerBound.configured) to \(range.upperBound.configured)")
            return nil
        }
        return duration
    }
}

extension Duration {
    private static let units: [(word: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("min", 60_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Parses a duration in the configuration's notation, such as `30s`; returns nil for other text.
    public init?(configured text: String) {
        let digits = text.prefix(while: \.isASCIIDigit)
        let word = text.dropFirst(digits.count)
        guard let number = Int64(digits), let unit = Self.units.first(where: { $0.word == word }) else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The duration in the configuration's notation, in the largest unit that represents it exactly.
    public var configured: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        let unit = Self.units.last { milliseconds % $0.milliseconds == 0 && $0.word != "m" } ?? Self.units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.word)"
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
