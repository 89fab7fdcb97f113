internal import CLDAP
internal import GatewaySupport
internal import Glibc

/// Connections to directory servers, in the worker.
///
/// The addresses of a name are tried in the order of getaddrinfo(3). One that does not respond within
/// ``attemptDelay`` keeps trying while the next one begins (RFC 8305, section 5), so an address that drops packets delays a
/// login by this time only. libldap would try them one after another, each for the whole timeout.
enum DirectorySocket {
    /// The error that no address accepted a connection.
    enum Failure: Error, Sendable, Hashable {
        /// The host name has no address.
        case unknownHost
        /// No address accepted the connection. The code is the last `errno`.
        case refused(Int32)
        case timedOut
    }

    /// The time after which the next address is tried, in milliseconds.
    private static let attemptDelay: Int64 = 250

    /// Returns the descriptor of a connection to a server. The caller owns it.
    ///
    /// - Parameter timeout: The limit in milliseconds. The resolution of the name blocks as long as resolv.conf(5) lets it.
    static func connect(to endpoint: DirectoryURL.Endpoint, timeout: Int64) throws(Failure) -> Int32 {
        switch endpoint {
        case .unix(let path): try race([try address(of: path)], timeout: timeout)
        case .tcp(let host, let port): try race(HostAddress.resolve(host, port: port), timeout: timeout)
        }
    }

    /// Begins a connection. Returns its descriptor, which becomes writable when the connection is open or has failed.
    private static func begin(_ address: HostAddress) throws(Failure) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw .refused(errno) }
        guard address.withSocketAddress({ Glibc.connect(descriptor, $0, $1) }) != 0, errno != EINPROGRESS else {
            return descriptor
        }
        // EAGAIN of a Unix socket, too: its queue is full, so the server is overloaded.
        let code = errno
        close(descriptor)
        throw .refused(code)
    }

    /// Connects to the first address that accepts, and closes the other attempts.
    static func race(_ addresses: [HostAddress], timeout: Int64) throws(Failure) -> Int32 {
        guard !addresses.isEmpty else { throw .unknownHost }
        var waiting = addresses[...]
        var attempts: [pollfd] = []
        defer { for attempt in attempts { close(attempt.fd) } }
        let end = now() + max(timeout, 0)
        var nextStart = now()
        var lastCode = ECONNREFUSED
        while true {
            if attempts.isEmpty || now() >= nextStart, let address = waiting.popFirst() {
                do throws(Failure) {
                    attempts.append(pollfd(fd: try begin(address), events: Int16(POLLOUT), revents: 0))
                    nextStart = now() + attemptDelay
                } catch {
                    if case .refused(let code) = error { lastCode = code }
                    continue
                }
            }
            guard !attempts.isEmpty else { throw .refused(lastCode) }
            guard now() < end else { throw .timedOut }
            let wait = min(end, waiting.isEmpty ? end : nextStart) - now()
            guard poll(&attempts, nfds_t(attempts.count), Int32(clamping: max(wait, 0))) > 0 else { continue }
            for index in attempts.indices.reversed() where attempts[index].revents != 0 {
                let descriptor = attempts.remove(at: index).fd
                let code = failure(of: descriptor)
                guard code != 0 else {
                    prepare(descriptor)
                    return descriptor
                }
                close(descriptor)
                lastCode = code
                // A refusal says that waiting is of no use.
                nextStart = now()
            }
        }
    }

    /// Returns the reason why a connection failed; 0 if it is open.
    private static func failure(of descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
    }

    /// Makes a connection what libldap expects: blocking, without delay, and with probes, by which an idle connection
    /// through a firewall that forgets it is noticed. The options of TCP have no effect on a Unix socket.
    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        let protocolNumber = Int32(IPPROTO_TCP)
        for (level, option, value) in [
            (protocolNumber, TCP_NODELAY, 1), (SOL_SOCKET, SO_KEEPALIVE, 1), (protocolNumber, TCP_KEEPIDLE, 60),
            (protocolNumber, TCP_KEEPCNT, 3), (protocolNumber, TCP_KEEPINTVL, 10),
        ] as [(Int32, Int32, Int32)] {
            withUnsafePointer(to: value) {
                _ = setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Int32>.size))
            }
        }
    }

    private static func address(of path: String) throws(Failure) -> HostAddress {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { field in
            guard path.utf8.count < field.count else { return false }
            field.copyBytes(from: path.utf8)
            return true
        }
        guard isShort, let encoded = withUnsafeBytes(of: address, HostAddress.init) else {
            throw .refused(ENAMETOOLONG)
        }
        return encoded
    }

    /// The monotonic time in milliseconds.
    private static func now() -> Int64 { Clocks.system.monotonic().nanoseconds / 1_000_000 }
}
