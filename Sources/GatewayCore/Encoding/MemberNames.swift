/// The names of a JSON object so far, compared without case.
///
/// Backends compare names without case, some by Unicode's rules. Two names that only such a backend would treat as
/// equal count as duplicates here too.
struct MemberNames {
    // A linear comparison is faster for few names; a hashed set bounds the cost for many.
    private var few: [String] = []
    private var many: Set<String> = []
    private static let mostCompared = 16

    /// Adds a name. Returns false if it is a duplicate.
    mutating func insert(_ name: String) -> Bool {
        let folded =
            name.utf8.allSatisfy { $0 < 0x80 && !($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) }
            ? name : name.lowercased()
        if few.count < Self.mostCompared {
            if few.contains(folded) { return false }
            few.append(folded)
            return true
        }
        if many.isEmpty { many = Set(few) }
        return many.insert(folded).inserted
    }
}
