extension TagExpression {
    /// The greatest number of tags if `||` is the only operator; otherwise `maximumMixedTags` applies.
    static let maximumAlternatives = 20
    /// The greatest number of tags in an expression with `&&` or `!`.
    static let maximumMixedTags = 6
    /// The greatest number of open operators and parentheses.
    static let maximumDepth = 64

    private enum Pending {
        case parenthesis, not, and, or

        /// The precedence of the operator. A parenthesis has the lowest, so no operator removes it.
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

    /// Parses an expression. `!` binds more tightly than `&&`, and `&&` than `||`.
    ///
    /// Throws ``HubFailure/badRequest`` for an expression that is malformed, too deep, or names too many tags.
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
