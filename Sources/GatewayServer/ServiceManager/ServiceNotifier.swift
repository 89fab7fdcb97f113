internal import Foundation
internal import GatewayCore
internal import Synchronization

/// Tells the service manager how the gateway is doing: datagrams to the socket that `NOTIFY_SOCKET` names, as sd_notify(3)
/// sends them. Does nothing where there is no such socket.
///
/// May be called from any thread. A manager that does not read loses the message; nothing waits for it.
final class ServiceNotifier: Sendable {
    private let descriptor: CInt
    private let address: [UInt8]
    private let clocks: Clocks
    private let isStopping = Atomic(false)
    /// How often the manager wants to hear that the gateway is alive; nil where it does not ask. It acts after that time without.
    let watchdogTime: Duration?

    /// - Parameter environment: what the manager started the process with.
    init(environment: [String: String], clocks: Clocks) {
        self.clocks = clocks
        address = environment["NOTIFY_SOCKET"].flatMap(Self.address) ?? []
        descriptor =
            address.isEmpty
            ? -1 : socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        // sd_watchdog_enabled(3): another process may be meant.
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogTime = descriptor >= 0 && isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The gateway serves; also after a reload, whatever came of that. Nothing is said of it once the gateway stops.
    func ready() { if !isStopping.load(ordering: .relaxed) { send("READY=1\nSTATUS=Serving") } }

    /// A reload begins. `ready()` follows.
    func reloading() {
        if isStopping.load(ordering: .relaxed) { return }
        send("RELOADING=1\nMONOTONIC_USEC=\(clocks.monotonic().nanoseconds / 1000)\nSTATUS=Reloading")
    }

    /// The gateway begins to stop.
    func stopping() {
        isStopping.store(true, ordering: .relaxed)
        send("STOPPING=1\nSTATUS=Finishing the calls under way")
    }

    /// The gateway is alive: to be called more often than `watchdogTime`.
    func alive() { send("WATCHDOG=1") }

    private func send(_ text: String) {
        guard descriptor >= 0 else { return }
        let bytes = Array(text.utf8)
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        // The address was made as a `sockaddr_un` of just this length.
        _ = address.withUnsafeBytes { address in
            address.withMemoryRebound(to: sockaddr.self) { pointer in
                sendto(descriptor, bytes, bytes.count, flags, pointer.baseAddress, socklen_t(address.count))
            }
        }
    }

    /// The bytes of a `sockaddr_un`: of a path, or of an abstract name, which is written with `@` before it (unix(7)).
    private static func address(_ name: String) -> [UInt8]? {
        var path = Array(name.utf8)
        guard path.first == UInt8(ascii: "/") || path.first == UInt8(ascii: "@"), path.count < 108 else { return nil }
        // A path ends with a NUL; an abstract name begins with one, and ends where the address does.
        if path[0] == UInt8(ascii: "@") { path[0] = 0 } else { path.append(0) }
        return withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + path
    }
}
