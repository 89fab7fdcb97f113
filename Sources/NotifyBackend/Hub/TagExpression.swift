/// A parsed tag expression such as `username:bob || (topic:a && !from:alice)`.
///
/// Stored in postfix order, so that neither parsing nor evaluation recurses and no nesting can exhaust the stack.
struct TagExpression: Equatable {
    enum Step: Equatable {
        case tag(String)
        case not, and, or
    }

    /// The steps in postfix order. Tags are in lower case.
    let steps: [Step]

    /// The tags in the expression, in order, in lower case.
    var tags: [String] {
        steps.compactMap { if case .tag(let tag) = $0 { tag } else { nil } }
    }

    /// Whether the expression only lists alternatives, so that an index of tags can evaluate it.
    var isAlternativesOnly: Bool {
        steps.allSatisfy { $0 != .not && $0 != .and }
    }

    /// Whether a registration with these lower-case tags matches.
    func matches(_ tags: Set<String>) -> Bool {
        var values: [Bool] = []
        for step in steps {
            switch step {
            case .tag(let tag): values.append(tags.contains(tag))
            case .not:
                guard let value = values.popLast() else { return false }
                values.append(!value)
            case .and:
                guard let right = values.popLast(), let left = values.popLast() else { return false }
                values.append(left && right)
            case .or:
                guard let right = values.popLast(), let left = values.popLast() else { return false }
                values.append(left || right)
            }
        }
        return values.last ?? false
    }
}
