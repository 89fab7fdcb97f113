internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// Sends the state of the gateway to the service manager: datagrams to the socket in `NOTIFY_SOCKET`, as sd_notify(3)
/// describes. Does nothing without that variable.
///
/// Safe to call from any thread. A message that the manager does not read is lost; sending never blocks.
final class ServiceNotifier: Sendable {
    private let descriptor: CInt
    private let address: [UInt8]
    private let clocks: Clocks
    private let isStopping = Atomic(false)
    private let isStarting = Atomic(true)
    /// The time within which the manager expects the next report of the start.
    static let startExtension = Duration.seconds(60)
    /// The time within which the manager expects a sign of life; nil if it expects none. Without one it restarts the
    /// gateway.
    let watchdogTime: Duration?

    /// Creates a notifier.
    ///
    /// - Parameter environment: The environment that the manager started the process with.
    init(environment: [String: String], clocks: Clocks) {
        self.clocks = clocks
        address = environment["NOTIFY_SOCKET"].flatMap(Self.address) ?? []
        descriptor =
            address.isEmpty
            ? -1 : socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        // The variables may be meant for another process (sd_watchdog_enabled(3)).
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogTime = descriptor >= 0 && isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reports that the start goes on, so that the manager does not end it. Returns whether it does.
    func starting() -> Bool {
        guard isStarting.load(ordering: .relaxed), !isStopping.load(ordering: .relaxed) else { return false }
        send("EXTEND_TIMEOUT_USEC=\(Self.startExtension.components.seconds * 1_000_000)\nSTATUS=Starting")
        return true
    }

    /// Reports that the gateway serves. Called after the start and after every reload, whatever its result. Ignored
    /// once the gateway stops.
    func ready() {
        isStarting.store(false, ordering: .relaxed)
        if !isStopping.load(ordering: .relaxed) { send("READY=1\nSTATUS=Serving") }
    }

    /// Reports the start of a reload. `ready()` follows.
    func reloading() {
        if isStopping.load(ordering: .relaxed) { return }
        send("RELOADING=1\nMONOTONIC_USEC=\(clocks.monotonic().nanoseconds / 1000)\nSTATUS=Reloading")
    }

    /// Reports the start of the shutdown.
    func stopping() {
        isStopping.store(true, ordering: .relaxed)
        send("STOPPING=1\nSTATUS=Draining")
    }

    /// Reports that the gateway is alive. Called more often than `watchdogTime`.
    func alive() { send("WATCHDOG=1") }

    private func send(_ text: String) {
        guard descriptor >= 0 else { return }
        let bytes = Array(text.utf8)
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        // `address` holds a `sockaddr_un` of exactly this length.
        _ = address.withUnsafeBytes { address in
            address.withMemoryRebound(to: sockaddr.self) { pointer in
                sendto(descriptor, bytes, bytes.count, flags, pointer.baseAddress, socklen_t(address.count))
            }
        }
    }

    /// Returns the bytes of a `sockaddr_un` for a path, or for an abstract name, which starts with `@` in the text
    /// (unix(7)).
    private static func address(_ name: String) -> [UInt8]? {
        var path = Array(name.utf8)
        guard path.first == UInt8(ascii: "/") || path.first == UInt8(ascii: "@"), path.count < 108 else { return nil }
        // A path ends with a NUL. An abstract name starts with a NUL and ends with the address.
        if path[0] == UInt8(ascii: "@") { path[0] = 0 } else { path.append(0) }
        return withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + path
    }
}
