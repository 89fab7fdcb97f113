internal import CPAM
internal import CWorkers
internal import Foundation
internal import WorkerProcesses

/// A service that runs workers with the privileges that modules need, for a gateway without privileges. Each
/// connection has its own worker.
///
/// Only the user from the command line may connect, and the workers serve only the PAM service from the command line.
struct WorkerService: ~Copyable {
    /// The reason why the service cannot run, in one line.
    struct Failure: CustomStringConvertible {
        let description: String
    }

    /// The maximum number of connections, above that of any gateway. Further connections are closed at once.
    static let connectionLimit = 64

    private let listener: CInt
    private let allowed: uid_t
    private let workerArguments: [String]
    private var connections: [ServedConnection] = []

    private init(listener: CInt, allowed: uid_t, workerArguments: [String]) {
        self.listener = listener
        self.allowed = allowed
        self.workerArguments = workerArguments
    }

    /// Runs the service. Returns only if it cannot start.
    static func run(_ arguments: WorkerArguments) -> Failure {
        guard let path = arguments.listen, let user = arguments.allow else {
            return Failure(description: "--listen and --allow are missing")
        }
        guard let uid = SystemAccounts.uid(of: user) else { return Failure(description: "there is no user \(user)") }
        let stack = ServiceStack(service: arguments.service, directory: arguments.serviceDirectory)
        let errors = stack.errors.map(\.description)
        errors.dropLast().forEach(WorkerLog.write)
        if let last = errors.last { return Failure(description: last) }
        stack.warnings.map(\.description).forEach(WorkerLog.write)
        notify_gateway_unblock_signals()
        guard removeStale(path) else { return Failure(description: "\(path) is in use, or is not a socket") }
        // The umask closes the socket to everybody until chown(2) gives it to the allowed user.
        umask(0o177)
        let listener = notify_gateway_packet_socket(path, 16)
        guard listener >= 0, chown(path, uid, gid_t.max) == 0 else {
            return Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        var service = WorkerService(
            listener: listener, allowed: uid, workerArguments: ["pam-worker"] + arguments.commandLine)
        WorkerLog.write("started: service \(arguments.service), socket \(path), allowed uid \(uid)")
        while true { service.handleEvents() }
    }

    /// Waits for the next events and handles them.
    private mutating func handleEvents() {
        // Polls a connection for its closure only, because the worker reads its packets.
        var events = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        for connection in connections {
            events.append(pollfd(fd: connection.socket, events: Int16(POLLRDHUP), revents: 0))
            events.append(pollfd(fd: connection.exit, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&events, nfds_t(events.count), -1) > 0 else { return }
        connections = connections.enumerated().filter { index, _ in
            events[1 + 2 * index].revents == 0 && events[2 + 2 * index].revents == 0
        }.map(\.element)
        if events[0].revents != 0 { accept() }
    }

    private mutating func accept() {
        let socket = notify_gateway_accept(listener)
        guard socket >= 0 else {
            // Out of descriptors or memory. The listener stays readable, so retrying at once would be a busy loop.
            if errno != EINTR, errno != ECONNABORTED { usleep(100_000) }
            return
        }
        var uid: uid_t = 0
        guard notify_gateway_peer_uid(socket, &uid) == 0, uid == allowed, connections.count < Self.connectionLimit,
            let connection = ServedConnection(socket, workerArguments)
        else {
            close(socket)
            return
        }
        connections.append(connection)
    }

    /// Removes a socket without a listener. Returns false if the path is in use or is not a socket.
    private static func removeStale(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return errno == ENOENT }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return false }
        let connection = notify_gateway_packet_socket(path, 0)
        guard connection < 0 else {
            close(connection)
            return false
        }
        return errno == ECONNREFUSED && unlink(path) == 0
    }
}

/// A gateway's connection and the worker that serves it. Closing one closes the other.
private final class ServedConnection {
    let socket: CInt
    /// A pidfd, readable when the worker has exited.
    let exit: CInt
    private let worker: WorkerProcess

    init?(_ socket: CInt, _ arguments: [String]) {
        guard let worker = try? WorkerProcess(program: "/proc/self/exe", arguments: arguments, socket: socket) else {
            return nil
        }
        exit = notify_gateway_pidfd(worker.pid)
        guard exit >= 0 else { return nil }
        self.socket = socket
        self.worker = worker
    }

    deinit {
        close(exit)
        close(socket)
    }
}
