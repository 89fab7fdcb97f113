/// A signal that one part of a test raises and another awaits. It stays raised.
public final class Signal: Sendable {
    private let raised = AwaitableValue(false)

    /// Creates a signal that is not raised.
    public init() {}

    /// Raises the signal.
    public func raise() { raised.withLock { $0 = true } }

    /// Returns once the signal is raised.
    public func wait() async { await raised.wait { $0 } }
}
