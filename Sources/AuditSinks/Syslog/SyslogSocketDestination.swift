internal import GatewaySupport
internal import Glibc
internal import OutboundHTTP
internal import Synchronization

/// Sends syslog messages to a Unix socket of this machine.
///
/// A batch is confirmed once the receiver has read every byte of it, which the kernel reports (SIOCOUTQ).
final class SyslogSocketDestination: SinkDestination {
    private let path: String
    private let type: CInt
    private let message: SyslogMessage
    private let thread: DeliveryThread
    private let descriptor = Mutex<CInt>(-1)

    let maximumRecords = 500
    /// The time in which the receiver has to read some bytes, in milliseconds.
    private static let deadline: Int64 = 30_000
    /// The time for a connection, in seconds.
    private static let connectTimeout = 10

    init(path: String, isStream: Bool, message: SyslogMessage, thread: DeliveryThread) {
        self.path = path
        type = CInt(isStream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue)
        self.message = message
        self.thread = thread
    }

    deinit { descriptor.withLock { if $0 >= 0 { Glibc.close($0) } } }

    private var isStream: Bool { type == CInt(SOCK_STREAM.rawValue) }

    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        try await thread.run { [self] () throws(DeliveryFailure) in
            do throws(DeliveryFailure) {
                try send(batch)
            } catch {
                disconnect()
                throw error
            }
        }
    }

    /// Ends the connection. The thread may still use the descriptor, and the number of a closed one could soon be that of
    /// another connection. So the thread closes it when its work fails, or the end of this object.
    func close() async {
        descriptor.withLock { if $0 >= 0 { shutdown($0, CInt(SHUT_RDWR)) } }
    }

    private func send(_ batch: SinkBatch) throws(DeliveryFailure) {
        let socket = try connection()
        if isStream {
            var bytes: [UInt8] = []
            batch.forEachLine { bytes += message.frame($0) }
            try write(bytes, to: socket)
        } else {
            try batch.forEachLine { (line) throws(DeliveryFailure) in
                try write(message.bytes(line), to: socket)
            }
        }
        try awaitReceipt(socket)
    }

    /// Writes a datagram, or all bytes of a stream.
    private func write(_ bytes: [UInt8], to socket: CInt) throws(DeliveryFailure) {
        var deadline = Self.now + Self.deadline
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    socket, buffer.baseAddress.map { $0 + sent }, buffer.count - sent,
                    CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
                deadline = Self.now + Self.deadline
            } else if errno == EAGAIN || errno == ENOBUFS {
                try wait(for: Int16(POLLOUT), on: socket, before: deadline)
            } else if errno != EINTR {
                throw failure("send")
            }
        }
    }

    /// Returns once the receiver has read all bytes.
    private func awaitReceipt(_ socket: CInt) throws(DeliveryFailure) {
        var deadline = Self.now + Self.deadline
        var least = CInt.max
        while true {
            var unread: CInt = 0
            guard ioctl(socket, UInt(TIOCOUTQ), &unread) == 0 else { throw failure("ioctl") }
            // A receiver that has closed its end reads nothing more, and its unread bytes are lost.
            var state = pollfd(fd: socket, events: 0, revents: 0)
            guard poll(&state, 1, 0) >= 0, state.revents & Int16(POLLERR | POLLHUP) == 0 else {
                throw DeliveryFailure("\(path): the receiver closed the connection")
            }
            if unread == 0 { return }
            if unread < least {
                least = unread
                deadline = Self.now + Self.deadline
            }
            guard Self.now < deadline else { throw DeliveryFailure("\(path): the receiver does not read") }
            usleep(2000)
        }
    }

    private func wait(for events: Int16, on socket: CInt, before deadline: Int64) throws(DeliveryFailure) {
        let left = deadline - Self.now
        guard left > 0 else { throw DeliveryFailure("\(path): the receiver does not read") }
        var state = pollfd(fd: socket, events: events, revents: 0)
        // A datagram socket may be ready for a shorter datagram than ours, so the wait is bounded.
        _ = poll(&state, 1, CInt(min(left, 100)))
        if state.revents & events != 0 { usleep(1000) }
    }

    /// Returns the connected socket; connects if necessary.
    private func connection() throws(DeliveryFailure) -> CInt {
        let present = descriptor.withLock { $0 }
        if present >= 0 { return present }
        let made = socket(AF_UNIX, type | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw failure("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { buffer -> Bool in
            guard path.utf8.count < buffer.count else { return false }
            buffer.copyBytes(from: path.utf8)
            return true
        }
        guard fits else {
            Glibc.close(made)
            throw DeliveryFailure("\(path) is too long for the path of a socket")
        }
        // The backlog of a receiver that accepts nothing may be full.
        var timeout = timeval(tv_sec: Self.connectTimeout, tv_usec: 0)
        setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(made, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else {
            let failed = failure("connect")
            Glibc.close(made)
            throw failed
        }
        descriptor.withLock { $0 = made }
        return made
    }

    private func disconnect() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }

    private func failure(_ operation: String) -> DeliveryFailure { DeliveryFailure(FileFailure(operation, path)) }

    private static var now: Int64 { Clocks.system.monotonic().nanoseconds / 1_000_000 }
}
