internal import GatewayCore
internal import GatewaySupport

/// Decides when a checkpoint is due, and signs statements. A checkpoint is due after ``maximumUnsignedLines`` lines,
/// and after the interval if there are unsigned lines. Confined to the writer's thread.
struct JournalSigner {
    private let key: Ed25519.PrivateKey
    /// The maximum number of lines without a checkpoint.
    static let maximumUnsignedLines = 1000
    private let interval: Int64
    /// The number of lines since the last checkpoint.
    private var run = 0
    private var oldest: Int64?

    init(key: Ed25519.PrivateKey, interval: Duration) {
        self.key = key
        self.interval = interval.components.seconds * 1_000_000_000 + interval.components.attoseconds / 1_000_000_000
    }

    /// Counts an appended line.
    mutating func append(now: MonotonicInstant) {
        run += 1
        if oldest == nil { oldest = now.nanoseconds }
    }

    /// Resets the count after a checkpoint.
    mutating func sign() {
        run = 0
        oldest = nil
    }

    /// Whether a checkpoint must precede the next line.
    var isFull: Bool { run >= Self.maximumUnsignedLines }

    /// Whether there are unsigned lines.
    var hasUnsigned: Bool { run > 0 }

    /// Returns the time until a checkpoint is due; nil without unsigned lines.
    func wait(now: MonotonicInstant) -> Duration? {
        oldest.map { .nanoseconds(max(0, $0 + interval - now.nanoseconds)) }
    }

    /// Signs a statement about the chain's last line; nil if libcrypto fails.
    func statement(_ kind: JournalStatement.Kind, at chain: JournalChain, time: String) -> SignedStatement? {
        statement(kind, through: chain.next - 1, head: chain.previous, time: time)
    }

    /// Signs a statement about the given line; nil if libcrypto fails.
    func statement(
        _ kind: JournalStatement.Kind, through: UInt64, head: [UInt8], time: String
    ) -> SignedStatement? {
        key.sign(JournalStatement(kind: kind, through: through, head: head, time: time))
    }
}
