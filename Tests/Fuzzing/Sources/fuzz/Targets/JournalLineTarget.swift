@testable internal import GatewayStore

/// The journal's readers accept only lines that carry their own hash, and whole lines are a prefix of the bytes.
enum JournalLineTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        let reader = JournalLineReader(bytes: input[...])
        _ = (reader.sequence, reader.time, reader.kind, reader.previous, reader.statement, reader.intentMembers)
        for name in ["call", "user", "to", "rule", "detail"] as [StaticString] {
            _ = (reader.text(name), reader.number(name))
        }
        if reader.verifiedHash != nil, input.count < 75 { propertyFails("a hash within \(input.count) bytes") }
        let lines = CompleteLines(input).bytes
        guard input.starts(with: lines), lines.isEmpty || lines.last == 0x0A else {
            propertyFails("no prefix of lines")
        }
    }
}
