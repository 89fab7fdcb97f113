import Testing

/// The tests that start workers. They run one after another, because they count leftover processes and measure time.
@Suite("Logins through workers", .serialized, .timeLimit(.minutes(10)))
enum WorkerTests {}
