internal import GatewayCore
internal import GatewaySupport

/// Decides when a checkpoint is due, and signs statements. A checkpoint is due when ``maximumUnsignedLines`` lines are
/// unsigned, or when the oldest unsigned line is older than the interval. Confined to the writer's thread.
struct JournalSigner {
    private let key: Ed25519.PrivateKey
    /// The maximum number of lines without a checkpoint.
    static let maximumUnsignedLines = 1000
    private let intervalNanoseconds: Int64
    /// The number of lines since the last checkpoint.
    private var unsignedLines = 0
    /// The time at which the oldest unsigned line was appended, in monotonic nanoseconds; nil if there is none.
    private var oldestUnsigned: Int64?

    init(key: Ed25519.PrivateKey, interval: Duration) {
        self.key = key
        intervalNanoseconds =
            interval.components.seconds * 1_000_000_000 + interval.components.attoseconds / 1_000_000_000
    }

    /// Counts an appended line.
    mutating func didAppendLine(now: MonotonicInstant) {
        unsignedLines += 1
        if oldestUnsigned == nil { oldestUnsigned = now.nanoseconds }
    }

    /// Resets the count after a checkpoint.
    mutating func didSign() {
        unsignedLines = 0
        oldestUnsigned = nil
    }

    /// Whether a checkpoint must precede the next line.
    var mustSignBeforeNextLine: Bool { unsignedLines >= Self.maximumUnsignedLines }

    /// Whether there are unsigned lines.
    var hasUnsigned: Bool { unsignedLines > 0 }

    /// Returns the time until the oldest unsigned line is older than the interval, at least zero; nil if no line is
    /// unsigned. Does not consider the number of lines; see `mustSignBeforeNextLine`.
    func timeUntilDue(now: MonotonicInstant) -> Duration? {
        oldestUnsigned.map { .nanoseconds(max(0, $0 + intervalNanoseconds - now.nanoseconds)) }
    }

    /// Signs a statement about the chain's last line; nil if signing fails.
    func signedStatement(_ kind: JournalStatement.Kind, at chain: JournalChain, time: String) -> SignedStatement? {
        signedStatement(kind, through: chain.next - 1, head: chain.previous, time: time)
    }

    /// Signs a statement about the given line; nil if signing fails.
    func signedStatement(
        _ kind: JournalStatement.Kind, through: UInt64, head: [UInt8], time: String
    ) -> SignedStatement? {
        key.sign(JournalStatement(kind: kind, through: through, head: head, time: time))
    }
}
