internal import GatewaySupport

/// Every text either parses or is a problem that names a line of the text.
enum YAMLTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        guard let text = String(validating: input, as: UTF8.self) else { return }
        do throws(ConfigurationProblem) {
            _ = try YAMLDocument.parse(text, file: "fuzzed.yaml")
        } catch {
            // libyaml counts CR, NEL, LS and PS as line breaks too, and may point one line behind the end.
            let breaks = text.unicodeScalars.count { ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains($0) }
            let line = error.location.line
            guard line > breaks + 2 else { return }
            propertyFails("line \(line) of \(breaks + 1)")
        }
    }
}
