/// The sends between users as a table of bounded size: senders are rows, recipients are columns, both in descending
/// order of their sends. Users beyond the bound share the last row or column.
///
/// Takes O(n log n) for n pairs.
struct PairGrid: Sendable {
    /// The number of pairs whose users are told apart. Later pairs count only for the others.
    static let maximumPairs = 50_000

    /// A row or a column.
    struct Line: Sendable {
        /// The user; nil for the group of the others.
        let user: String?
        let text: DisplayText
        var tally = SendTally()
    }

    /// A cell with sends.
    struct Link: Sendable {
        let row: Int
        let column: Int
        let tally: SendTally
    }

    private(set) var rows: [Line]
    private(set) var columns: [Line]
    private(set) var total = SendTally()
    /// The number of distinct users on each side, before grouping.
    let senderCount: Int
    let recipientCount: Int
    private var cells: [SendTally]

    init(_ pairs: [PairCount], maximumRows: Int, maximumColumns: Int) {
        let pairs = pairs.lazy.filter { $0.sends > 0 }
        var senders = UserRanking()
        var recipients = UserRanking()
        var numbered: [(sender: Int, recipient: Int)] = []
        numbered.reserveCapacity(min(Self.maximumPairs, pairs.underestimatedCount))
        var hasMore = false
        for pair in pairs {
            guard numbered.count < Self.maximumPairs else {
                hasMore = true
                break
            }
            numbered.append((senders.add(pair.sender, pair), recipients.add(pair.recipient, pair)))
        }
        senderCount = senders.users.count
        recipientCount = recipients.users.count
        let (rows, rowOf) = senders.lines(maximum: maximumRows, hasMore: hasMore)
        let (columns, columnOf) = recipients.lines(maximum: maximumColumns, hasMore: hasMore)
        self.rows = rows
        self.columns = columns
        cells = Array(repeating: SendTally(), count: rows.count * columns.count)
        for (index, pair) in pairs.enumerated() {
            let isTold = index < numbered.count
            let row = isTold ? rowOf[numbered[index].sender] : rows.count - 1
            let column = isTold ? columnOf[numbered[index].recipient] : columns.count - 1
            cells[row * columns.count + column].add(pair.sends, refused: pair.refused)
            self.rows[row].tally.add(pair.sends, refused: pair.refused)
            self.columns[column].tally.add(pair.sends, refused: pair.refused)
            total.add(pair.sends, refused: pair.refused)
        }
    }

    subscript(row: Int, column: Int) -> SendTally { cells[row * columns.count + column] }

    /// Whether a cell has a single sender and a single recipient.
    func isSinglePair(_ row: Int, _ column: Int) -> Bool { rows[row].user != nil && columns[column].user != nil }

    /// The largest number of sends of a single pair; of all cells if there is no single pair. Scales end here, because
    /// groups of others would make every single pair look small.
    var maximum: Int {
        var single = 0
        for row in rows.indices {
            for column in columns.indices where isSinglePair(row, column) {
                single = max(single, self[row, column].sends)
            }
        }
        return single > 0 ? single : cells.reduce(0) { max($0, $1.sends) }
    }

    /// Whether a group of others has more sends than the largest single pair.
    var hasMoreThanMaximum: Bool {
        let maximum = maximum
        return cells.contains { $0.sends > maximum }
    }

    /// The cells with sends, in descending order of their number.
    var links: [Link] {
        var links: [Link] = []
        for row in rows.indices {
            for column in columns.indices where self[row, column].sends > 0 {
                links.append(Link(row: row, column: column, tally: self[row, column]))
            }
        }
        return links.sorted { ($1.tally.sends, $0.row, $0.column) < ($0.tally.sends, $1.row, $1.column) }
    }

    /// Returns what a cell shows: `alice → bob: 12 sends, 1 refused`.
    func title(row: Int, column: Int) -> String {
        "\(rows[row].text.isolated) → \(columns[column].text.isolated): \(self[row, column].text)"
    }

    /// The cells with sends as a table.
    var table: ChartTable {
        ChartTable(
            columns: ["Sender", "Recipient", "Sends", "Refused"],
            rows: links.map { link in
                [
                    rows[link.row].text.full, columns[link.column].text.full, NumberText.grouped(link.tally.sends),
                    NumberText.grouped(link.tally.refused),
                ]
            })
    }

    /// The picture in words.
    var description: String {
        let links = links
        guard let most = links.first(where: { isSinglePair($0.row, $0.column) }) ?? links.first else {
            return "No sends."
        }
        let senders = NumberText.counted(senderCount, "sender", "senders")
        let recipients = NumberText.counted(recipientCount, "recipient", "recipients")
        return "\(senders) and \(recipients): \(total.text). Most: \(title(row: most.row, column: most.column))."
    }
}

/// The users on one side of pairs, with the sends of each.
private struct UserRanking {
    private(set) var users: [(name: ExactName, sends: SendTally)] = []
    private var numbers: [ExactName: Int] = [:]

    /// Counts a pair for the user, and returns the number of the user in the order of arrival.
    mutating func add(_ user: String, _ pair: PairCount) -> Int {
        let name = ExactName(text: user)
        let number = numbers[name] ?? users.count
        if number == users.count {
            numbers[name] = number
            users.append((name, SendTally()))
        }
        users[number].sends.add(pair.sends, refused: pair.refused)
        return number
    }

    /// Returns the lines, and the line of each user by number. A single user too many still has a line of its own.
    func lines(maximum: Int, hasMore: Bool) -> (lines: [PairGrid.Line], lineOf: [Int]) {
        let order = users.indices.sorted {
            (users[$1].sends.sends, users[$0].name) < (users[$0].sends.sends, users[$1].name)
        }
        let fits = users.count <= maximum + 1 && !hasMore
        let shown = fits ? users.count : min(maximum, users.count)
        var lines = order.prefix(shown).map { number in
            PairGrid.Line(user: users[number].name.text, text: DisplayText(users[number].name.text))
        }
        if !fits {
            let others = "\(NumberText.grouped(users.count - shown))\(hasMore ? "+" : "") others"
            lines.append(PairGrid.Line(user: nil, text: DisplayText(others)))
        }
        var lineOf = Array(repeating: shown, count: users.count)
        for (line, number) in order.prefix(shown).enumerated() { lineOf[number] = line }
        return (lines, lineOf)
    }
}

/// A name that equals another one only if the bytes are equal. `String` also compares equal what is only canonically
/// equivalent, and would count two users as one.
private struct ExactName: Hashable, Comparable {
    let text: String

    static func == (left: ExactName, right: ExactName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
    static func < (left: ExactName, right: ExactName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
