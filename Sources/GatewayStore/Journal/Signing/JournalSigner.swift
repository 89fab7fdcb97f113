internal import GatewayCore

/// When the chain is signed, and with what: after so many lines, and after so long where there were any. Belongs to the
/// writer's thread.
struct JournalSigner {
    private let key: Ed25519.PrivateKey
    /// The longest run of lines without a checkpoint.
    static let longestRun = 1000
    private let interval: Int64
    /// Lines since the last checkpoint.
    private var run = 0
    private var oldest: Int64?

    init(key: Ed25519.PrivateKey, interval: Duration) {
        self.key = key
        self.interval = interval.components.seconds * 1_000_000_000 + interval.components.attoseconds / 1_000_000_000
    }

    /// Notes that a line was appended.
    mutating func append(now: MonotonicInstant) {
        run += 1
        if oldest == nil { oldest = now.nanoseconds }
    }

    /// Notes that all so far is signed.
    mutating func sign() {
        run = 0
        oldest = nil
    }

    /// Whether no further line may be appended before a checkpoint.
    var isFull: Bool { run >= Self.longestRun }

    /// Whether there is anything to sign.
    var hasUnsigned: Bool { run > 0 }

    /// How long until the lines that are there must be signed; nil where there are none.
    func wait(now: MonotonicInstant) -> Duration? {
        oldest.map { .nanoseconds(max(0, $0 + interval - now.nanoseconds)) }
    }

    /// A statement about the line where the chain stands, or nil where libcrypto fails.
    func statement(_ kind: JournalStatement.Kind, at chain: JournalChain, time: String) -> SignedStatement? {
        statement(kind, through: chain.next - 1, head: chain.previous, time: time)
    }

    /// A statement about another line, or nil where libcrypto fails.
    func statement(
        _ kind: JournalStatement.Kind, through: UInt64, head: [UInt8], time: String
    ) -> SignedStatement? {
        key.sign(JournalStatement(kind: kind, through: through, head: head, time: time))
    }
}
