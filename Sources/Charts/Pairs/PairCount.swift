/// How often one user notified another one.
package struct PairCount: Sendable, Hashable {
    /// The user who sent.
    package let sender: String
    /// The user to whom it was sent.
    package let recipient: String
    /// The number of sends, including refused ones. At least 0.
    package let sends: Int
    /// The number of refused sends, at most `sends`.
    package let refused: Int

    /// Creates a count. Numbers out of range become the nearest valid ones.
    package init(sender: String, recipient: String, sends: Int, refused: Int) {
        self.sender = sender
        self.recipient = recipient
        self.sends = max(0, sends)
        self.refused = min(max(0, refused), self.sends)
    }
}

/// Where the parts of a picture of pairs lead.
///
/// Each function returns a percent-encoded path on the same origin, a query or a fragment, or nil for no link. Other
/// addresses are ignored. Names arrive as they were given; grouped users are never asked for.
package struct PairLinks: Sendable {
    /// Returns the address for a sender and a recipient.
    package let pair: @Sendable (_ sender: String, _ recipient: String) -> String?
    /// Returns the address for a user.
    package let user: @Sendable (_ name: String) -> String?

    /// Creates links from the functions that make addresses.
    package init(
        pair: @escaping @Sendable (_ sender: String, _ recipient: String) -> String?,
        user: @escaping @Sendable (_ name: String) -> String?
    ) {
        self.pair = pair
        self.user = user
    }
}

/// A number of sends, and how many of them were refused. Sums stop at the largest number.
struct SendTally: Sendable, Hashable {
    var sends = 0
    var refused = 0

    mutating func add(_ sends: Int, refused: Int) {
        self.sends = Self.sum(self.sends, sends)
        self.refused = Self.sum(self.refused, refused)
    }

    /// The share of refused sends, from 0 to 1.
    var refusedShare: Double { sends > 0 ? Double(refused) / Double(sends) : 0 }

    /// The figures in words: `12 sends, 1 refused`.
    var text: String {
        NumberText.counted(sends, "send", "sends") + (refused > 0 ? ", \(NumberText.grouped(refused)) refused" : "")
    }

    private static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }
}
