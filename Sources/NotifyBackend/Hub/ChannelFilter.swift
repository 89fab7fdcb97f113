/// The OData filter `channeluri eq '<handle>'` with which backends look up a handle.
///
/// Backends insert the handle unescaped, so a handle with `'` can change the filter and find other users'
/// registrations. The supported grammar is what such a change needs: comparisons of `channeluri` with quoted texts,
/// joined by `and` and `or` (`and` binds more tightly).
struct ChannelFilter: Equatable {
    enum Comparison: String { case eq, ne, gt, ge, lt, le }

    struct Term: Equatable {
        let comparison: Comparison
        let text: String
    }

    /// The greatest number of terms.
    static let maximumTerms = 64

    /// The alternatives, joined by `or`. The terms of each are joined by `and`.
    let alternatives: [[Term]]

    /// The handle, if the filter is one equality comparison; otherwise nil.
    var onlyHandle: String? {
        guard alternatives.count == 1, alternatives[0].count == 1, alternatives[0][0].comparison == .eq else {
            return nil
        }
        return alternatives[0][0].text
    }

    /// Builds the filter for a handle as the backends do, and parses it as the hub does.
    ///
    /// Throws ``HubFailure/badRequest`` if the handle makes the filter malformed.
    init(pasting handle: String) throws(HubFailure) {
        var words = FilterWords(text: "channeluri eq '" + handle + "'")
        var alternatives: [[Term]] = [[]]
        var count = 0
        while true {
            guard let property = words.nextWord(), property.lowercased() == "channeluri",
                let comparison = words.nextWord().flatMap({ Comparison(rawValue: $0.lowercased()) }),
                let text = words.nextQuotedText()
            else { throw .badRequest }
            alternatives[alternatives.count - 1].append(Term(comparison: comparison, text: text))
            count += 1
            guard count <= Self.maximumTerms else { throw .badRequest }
            if words.isAtEnd { break }
            switch words.nextWord()?.lowercased() {
            case "and": continue
            case "or": alternatives.append([])
            default: throw .badRequest
            }
        }
        self.alternatives = alternatives
    }

    /// Whether the filter finds a registration with this handle.
    func matches(_ handle: String) -> Bool {
        alternatives.contains { terms in
            terms.allSatisfy { term in
                switch term.comparison {
                case .eq: handle == term.text
                case .ne: handle != term.text
                case .gt: handle > term.text
                case .ge: handle >= term.text
                case .lt: handle < term.text
                case .le: handle <= term.text
                }
            }
        }
    }
}
