internal import CWorkers
internal import Foundation
internal import GatewaySupport

/// A connection to one worker, which serves one request at a time. Destroying the value closes the connection and stops
/// the worker.
struct WorkerConnection: ~Copyable {
    private let socket: CInt
    // nil if a worker service owns the process. The service stops the worker when the connection closes.
    private let process: WorkerProcess?

    /// Starts a worker and connects to it through a socket pair.
    init(spawning program: String, arguments: [String]) throws(WorkerConnectionError) {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw .notStarted
        }
        defer { close(pair[1]) }
        do {
            process = try WorkerProcess(program: program, arguments: arguments, socket: pair[1])
            socket = pair[0]
        } catch {
            close(pair[0])
            throw error
        }
    }

    /// Connects to a worker service.
    init(connectingTo path: String) throws(WorkerConnectionError) {
        socket = notify_gateway_packet_socket(path, 0)
        process = nil
        guard socket >= 0 else { throw .notStarted }
    }

    deinit {
        if socket >= 0 { close(socket) }
    }

    /// Whether the socket has no data and no end of file to read. Valid between requests only.
    var hasNoPendingInput: Bool {
        var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&event, 1, 0) == 0
    }

    /// Sends a request and waits for the response. Blocks at most until the deadline. After an error the connection
    /// must not be used again, because a late response could still arrive.
    func query<Query: WorkerQuery>(
        _ request: Query, until deadline: MonotonicInstant, clock: () -> MonotonicInstant
    ) throws(WorkerConnectionError) -> Query.Response {
        let nonce = Nonce()
        guard let packet = request.packet(nonce) else { throw .unsendable }
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        let sent = send(socket, packet.bytes.baseAddress, packet.bytes.count, flags)
        packet.wipe()
        guard sent == packet.bytes.count else { throw .ended }
        try waitForPacket(until: deadline, clock: clock)
        let answer = WipedBuffer(count: Query.maximumResponseLength)
        let count = recv(
            socket, answer.bytes.baseAddress, answer.bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC))
        guard count > 0 else { throw .ended }
        // With MSG_TRUNC, recv(2) returns the packet's own length, which may exceed the buffer.
        guard count <= answer.bytes.count else { throw .garbage }
        let bytes = UnsafeRawBufferPointer(rebasing: answer.bytes[..<count])
        guard let response = Query.response(in: bytes, to: nonce) else { throw .garbage }
        return response
    }

    private func waitForPacket(
        until deadline: MonotonicInstant, clock: () -> MonotonicInstant
    ) throws(WorkerConnectionError) {
        while true {
            let left = deadline.nanoseconds - clock().nanoseconds
            guard left > 0 else { throw .timedOut }
            var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            // Rounded up, so that a remainder below a millisecond does not cause a busy loop.
            switch poll(&event, 1, CInt(clamping: (left + 999_999) / 1_000_000)) {
            case 0: throw .timedOut
            case 1: return
            default: guard errno == EINTR else { throw .ended }
            }
        }
    }
}

/// The reason why a worker sent no valid response.
package enum WorkerConnectionError: String, Error, Sendable {
    /// The worker could not be started, or the worker service could not be reached.
    case notStarted = "not-started"
    /// The connection closed during the request.
    case ended
    /// The deadline passed before the response.
    case timedOut = "timed-out"
    /// The response was malformed, or did not belong to the request.
    case garbage
    /// The request does not fit in a packet.
    case unsendable
}
