/// A table that an export contains, with its columns.
struct TransferTable: Sendable, Hashable {
    /// The type of a column's values.
    enum Kind: Sendable, Hashable {
        case integer
        case text
        case bytes
    }

    /// A column.
    struct Column: Sendable, Hashable {
        let name: String
        let kind: Kind
    }

    let name: String
    let columns: [Column]
    /// The columns by which an export orders the rows.
    let order: [String]

    /// The names of the columns for statements. `user` is a word of SQL.
    var columnList: String { columns.map { "\"\($0.name)\"" }.joined(separator: ", ") }

    /// Creates a table from pairs of names and kinds, which are separated by a colon: `id:t`, with `t`, `i` or `b`.
    private init(_ name: String, order: [String], _ columns: String) {
        self.name = name
        self.order = order
        self.columns = columns.split(separator: " ").map { word in
            let kind: Kind =
                switch word.last {
                case "i": .integer
                case "b": .bytes
                default: .text
                }
            return Column(name: String(word.dropLast(2)), kind: kind)
        }
    }

    /// The tables of the ledger. A row that refers to a registration comes after it.
    static let ledger = [
        TransferTable(
            "registration", order: ["id"],
            """
            id:t owner:t service:t handle:b state:t created:i last_seen:i reason:t login:t authenticator:t undeleted:i \
            import_unconfirmed:i upstream:t
            """),
        TransferTable("label", order: ["user", "label"], "user:t label:t registration:t used:i"),
        TransferTable("hand_over", order: ["at", "service", "handle"], "service:t handle:b at:i owner:t former:t"),
        TransferTable(
            "update_attempt", order: ["registration", "user"], "registration:t user:t login:t authenticator:t at:i"),
        TransferTable("imported", order: ["id", "content"], "id:t content:b verdict:t"),
        TransferTable("stray", order: ["id"], "id:t service:t handle:b reason:t undeleted:i owner:t upstream:t"),
        TransferTable(
            "session", order: ["id"],
            """
            id:t user:t login:t authenticator:t device:t began:i ends:i renewed:i issuer:t provider_session:t
            """),
        TransferTable("revoked_token", order: ["user", "token"], "user:t token:t until:i"),
        TransferTable("revoked_user", order: ["user"], "user:t at:i"),
        TransferTable("provider_logout", order: ["issuer", "kind", "value"], "issuer:t kind:t value:t at:i"),
        TransferTable("account", order: ["authenticator", "user"], "authenticator:t user:t mark:b since:i"),
    ]

    /// The properties of the ledger that hold for any store. Others belong to a file or a run.
    static let properties = ["agreed-time", "imported", "name-rules", "restored", "unconfirmed-until"]

    /// The texts of secure sends.
    static let texts = TransferTable(
        "text", order: ["id"], "id:i owner:t key:i delivery:i expiry:i fetched:i size:i sealed:b")
}
