/// The names of a JSON object so far, compared without case.
///
/// Backends compare names without case, some by Unicode's rules. Two names that only such a backend would treat as
/// equal count as duplicates here too.
struct MemberNames {
    // A linear comparison is faster for few names; a hashed set bounds the cost for many.
    private var compared: [String] = []
    private var hashed: Set<String> = []
    private static let maximumCompared = 16

    /// Adds a name. Returns false if it is a duplicate.
    mutating func insert(_ name: String) -> Bool {
        let folded =
            name.utf8.allSatisfy { $0 < 0x80 && !($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) }
            ? name : name.lowercased()
        if compared.count < Self.maximumCompared {
            if compared.contains(folded) { return false }
            compared.append(folded)
            return true
        }
        if hashed.isEmpty { hashed = Set(compared) }
        return hashed.insert(folded).inserted
    }
}
