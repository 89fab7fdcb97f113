internal import CPAM
internal import Foundation
internal import GatewayCore

/// The entry point of the program as a worker process and as a worker service.
public enum PAMWorker {
    /// Serves requests until the other end closes the connection; never returns. Call it before anything else in the
    /// process.
    ///
    /// Exit status: 0 if the other end closed the connection; 1 if it violated the worker protocol, or the worker
    /// service could not run; 2 for an invalid command line.
    ///
    /// - Parameter arguments: the command line after `pam-worker`: `--service NAME [--service-directory DIRECTORY]`,
    ///   and for a worker service `--listen SOCKET --allow USER`.
    public static func run(_ arguments: [String]) -> Never {
        do throws(WorkerArguments.UsageError) {
            let arguments = try WorkerArguments(arguments)
            if arguments.listen != nil {
                writeLine(WorkerService.run(arguments).description)
                exit(1)
            }
            guard isPacketSocket(NOTIFY_GATEWAY_WORKER_SOCKET) else {
                throw WorkerArguments.UsageError(message: "without --listen only the gateway can start a worker")
            }
            guard notify_gateway_guard_worker(NOTIFY_GATEWAY_WORKER_SOCKET) == 0 else { exit(1) }
            notify_gateway_harden_worker()
            exit(serve(NOTIFY_GATEWAY_WORKER_SOCKET, arguments))
        } catch {
            writeLine(error.message)
            exit(2)
        }
    }

    /// Serves requests one after another and returns the exit status.
    private static func serve(_ socket: CInt, _ arguments: WorkerArguments) -> CInt {
        // Processes that modules start must neither keep the connection open nor write to it.
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        umask(0o077)
        let buffer = WipedBuffer(count: WorkerRequest.maximumLength)
        let state = WorkerState()
        while true {
            let count = recv(socket, buffer.bytes.baseAddress, buffer.bytes.count, CInt(MSG_TRUNC))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? 0 : 1 }
            guard count <= buffer.bytes.count,
                let (request, nonce) = WorkerRequest.read(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count]))
            else { return 1 }
            buffer.wipe()
            let answer = answer(to: request, arguments, state).packet(nonce, after: state.changes())
            guard send(socket, answer, answer.count, CInt(MSG_NOSIGNAL)) == answer.count else { return 1 }
        }
    }

    private static func answer(
        to request: WorkerRequest, _ arguments: WorkerArguments, _ state: WorkerState
    ) -> WorkerResponse {
        guard request.service == arguments.service else { return .rejection(.otherService) }
        let stack = ServiceStack(service: arguments.service, directory: arguments.serviceDirectory)
        guard stack.file != nil else { return .rejection(.noSuchService) }
        if let entry = SystemAccounts.entryBelowMinimum(request) {
            return .workerResult(WorkerResult(authentication: nil, account: nil, user: request.user, entry: entry))
        }
        return PAMTransaction.answer(to: request, directory: arguments.serviceDirectory, in: state)
    }

    private static func isPacketSocket(_ descriptor: CInt) -> Bool {
        var type: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0
            && type == CInt(SOCK_SEQPACKET.rawValue)
    }

    /// Writes a line to standard error, for operators and the system's log. A worker process has `/dev/null` there.
    static func writeLine(_ message: String) {
        FileHandle.standardError.write(Data("notify-gateway pam-worker: \(message)\n".utf8))
    }
}

/// The state of a worker process that modules can change for later logins.
struct WorkerState {
    private var state = notify_gateway_state()

    /// Reads the current state.
    init() { notify_gateway_read_state(&state) }

    /// Returns the differences between this state and the current one.
    func changes() -> WorkerChanges {
        let now = WorkerState()
        return withUnsafePointer(to: state) { before in
            withUnsafePointer(to: now.state) { now in
                WorkerChanges(rawValue: UInt8(truncatingIfNeeded: notify_gateway_state_changes(before, now)))
            }
        }
    }
}

/// The changes that modules made to a worker process. A changed worker serves no further login.
struct WorkerChanges: OptionSet, Sendable, Hashable, CustomStringConvertible {
    let rawValue: UInt8

    /// The user: user ids, groups, capabilities.
    static let identity = WorkerChanges(rawValue: 1)
    /// The root directory, or a namespace.
    static let root = WorkerChanges(rawValue: 2)
    /// Resource limits.
    static let limits = WorkerChanges(rawValue: 4)
    /// The working directory.
    static let directory = WorkerChanges(rawValue: 8)
    /// The umask.
    static let mask = WorkerChanges(rawValue: 16)
    /// The set of blocked signals.
    static let signals = WorkerChanges(rawValue: 32)

    /// The changes after which the worker may see another account database.
    static let misleading: WorkerChanges = [.identity, .root]

    var description: String {
        let names: [(WorkerChanges, String)] = [
            (.identity, "user"), (.root, "root directory"), (.limits, "limits"), (.directory, "working directory"),
            (.mask, "umask"), (.signals, "blocked signals"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
