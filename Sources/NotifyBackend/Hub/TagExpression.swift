/// A parsed tag expression such as `username:bob || (topic:a && !from:alice)`.
///
/// Stored in postfix order, so that neither parsing nor evaluation recurses and no nesting can exhaust the stack.
struct TagExpression: Equatable {
    /// A tag or an operator.
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

    /// Whether `||` is the only operator, so that an index of tags can find the matches.
    var isAlternativesOnly: Bool {
        steps.allSatisfy { $0 != .not && $0 != .and }
    }

    /// Returns whether a registration with these tags (in lower case) matches.
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

extension TagExpression {
    /// The maximum number of tags if `||` is the only operator. With other operators it is `maximumMixedTags`.
    static let maximumAlternatives = 20
    /// The maximum number of tags in an expression with `&&` or `!`.
    static let maximumMixedTags = 6
    /// The maximum number of pending operators and open parentheses.
    static let maximumDepth = 64

    private enum Pending {
        case parenthesis, not, and, or

        /// The precedence. A parenthesis never yields to an operator.
        var strength: Int {
            switch self {
            case .parenthesis: 0
            case .or: 1
            case .and: 2
            case .not: 3
            }
        }

        var step: Step? {
            switch self {
            case .parenthesis: nil
            case .not: .not
            case .and: .and
            case .or: .or
            }
        }
    }

    /// Parses an expression. `!` binds tighter than `&&`, and `&&` tighter than `||`.
    ///
    /// Throws ``HubFailure/badRequest`` for an expression that is malformed, nested too deeply, or names too many tags.
    init(parsing text: String) throws(HubFailure) {
        let bytes = Array(text.utf8)
        var steps: [Step] = []
        var pending: [Pending] = []
        var tagCount = 0
        var expectsOperand = true
        var position = 0

        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"):
                position += 1
            case UInt8(ascii: "("), UInt8(ascii: "!"):
                guard expectsOperand, pending.count < Self.maximumDepth else { throw .badRequest }
                pending.append(byte == UInt8(ascii: "(") ? .parenthesis : .not)
                position += 1
            case UInt8(ascii: ")"):
                guard !expectsOperand else { throw .badRequest }
                while let last = pending.last, let step = last.step {
                    steps.append(step)
                    pending.removeLast()
                }
                guard pending.popLast() != nil else { throw .badRequest }
                position += 1
            case UInt8(ascii: "&"), UInt8(ascii: "|"):
                guard !expectsOperand, position + 1 < bytes.count, bytes[position + 1] == byte else {
                    throw .badRequest
                }
                let operation: Pending = byte == UInt8(ascii: "&") ? .and : .or
                while let last = pending.last, last.strength >= operation.strength, let step = last.step {
                    steps.append(step)
                    pending.removeLast()
                }
                guard pending.count < Self.maximumDepth else { throw .badRequest }
                pending.append(operation)
                expectsOperand = true
                position += 2
            default:
                let length = Self.tagLength(bytes[position...])
                guard expectsOperand, (1...HubTag.maximumLength).contains(length) else { throw .badRequest }
                let tag = String(decoding: bytes[position..<position + length], as: UTF8.self)
                steps.append(.tag(tag.lowercased()))
                tagCount += 1
                guard tagCount <= Self.maximumAlternatives else { throw .badRequest }
                expectsOperand = false
                position += length
            }
        }
        guard !expectsOperand else { throw .badRequest }
        while let last = pending.popLast() {
            guard let step = last.step else { throw .badRequest }
            steps.append(step)
        }
        self.steps = steps
        guard isAlternativesOnly || tagCount <= Self.maximumMixedTags else { throw .badRequest }
    }

    private static func tagLength(_ bytes: ArraySlice<UInt8>) -> Int {
        HubTag.systemTagLength(bytes) ?? bytes.prefix(while: HubTag.isTagByte).count
    }
}
