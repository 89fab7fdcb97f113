import Foundation
import GatewayTesting

/// The changes of the files in a journal's directory, from inotify(7).
final class JournalChanges: Sendable {
    private let descriptor: CInt

    /// Starts to watch the journal of a gateway in the directory.
    init(in directory: TestFiles) throws {
        descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        let events = UInt32(IN_MODIFY) | UInt32(IN_CREATE)
        guard descriptor >= 0, inotify_add_watch(descriptor, directory.path + "/journal", events) >= 0 else {
            throw GatewayUnderTest.StartFailure(description: "inotify: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// Repeats the query after each change of the journal until it returns a value. Throws after 20 seconds.
    @discardableResult
    func first<Value>(_ query: () async throws -> Value?) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if let value = try await query() { return value }
            guard ContinuousClock.now < deadline else {
                throw GatewayUnderTest.StartFailure(description: "the journal has no such record")
            }
            try await change(by: deadline)
        }
    }

    /// Returns once the journal has changed since the last call, or at the deadline.
    private func change(by deadline: ContinuousClock.Instant) async throws {
        try await Blocking.run { [descriptor] in
            let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, CInt(rest / .milliseconds(1))) > 0 else { return }
            // One read removes the events of many changes. Their content does not matter.
            var events = [UInt8](repeating: 0, count: 65_536)
            _ = read(descriptor, &events, events.count)
        }
    }
}
