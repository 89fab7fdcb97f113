/// The names that an object of JSON has so far, compared without case.
///
/// Backends compare names without case, some by Unicode's: a name that only they would take for another's twin must not get
/// past here either.
struct MemberNames {
    // Few names are compared faster than they are hashed; many must not be compared with each other.
    private var few: [String] = []
    private var many: Set<String> = []
    private static let mostCompared = 16

    /// Takes a name up; false if it was there.
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
