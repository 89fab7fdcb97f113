/// The OData filter `channeluri eq '<handle>'` with which backends look a handle up.
///
/// The handle is pasted in unquoted, so a handle with `'` can turn the filter into another one that finds other
/// people's registrations. Understood is what that takes: comparisons of `channeluri` with quoted texts, joined by
/// `and` and `or` (`and` binds first).
struct ChannelFilter: Equatable {
    enum Comparison: String { case eq, ne, gt, ge, lt, le }

    struct Term: Equatable {
        let comparison: Comparison
        let text: String
    }

    /// Terms a filter may have.
    static let maximumTerms = 64

    /// Alternatives, of which each is a list of terms that must all hold.
    let alternatives: [[Term]]

    /// The handle, if the filter asks for one handle and nothing else.
    var onlyHandle: String? {
        guard alternatives.count == 1, alternatives[0].count == 1, alternatives[0][0].comparison == .eq else {
            return nil
        }
        return alternatives[0][0].text
    }

    /// Builds the filter for a handle as the backends do, and reads it as the hub does.
    ///
    /// Throws ``HubFailure/badRequest`` if the paste made it malformed.
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

    /// Whether a registration with this handle is found.
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
