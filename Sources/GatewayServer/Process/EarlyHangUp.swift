internal import Glibc
internal import Synchronization

/// SIGHUP that arrives before the gateway can reload. Without this it would end the process, which a service manager takes
/// for a stop.
public enum EarlyHangUp {
    private static let isPending = Atomic(false)

    /// Remembers a SIGHUP from now on, until the reload service receives it. Call it first in a process that serves.
    public static func remember() {
        // The handler must not be the first to use the value.
        isPending.store(false, ordering: .relaxed)
        signal(SIGHUP) { _ in EarlyHangUp.isPending.store(true, ordering: .relaxed) }
    }

    /// Returns whether a SIGHUP was remembered, once.
    static func take() -> Bool { isPending.exchange(false, ordering: .relaxed) }
}
