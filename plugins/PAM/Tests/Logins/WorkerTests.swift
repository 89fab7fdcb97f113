import Testing

/// Everything that starts workers. One test after the other: they count what is left behind, and measure time.
@Suite("Logins through workers", .serialized, .timeLimit(.minutes(10)))
enum WorkerTests {}
