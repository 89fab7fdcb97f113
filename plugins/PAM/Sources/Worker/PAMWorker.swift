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
                WorkerLog.write(WorkerService.run(arguments).description)
                exit(1)
            }
            guard isPacketSocket(NOTIFY_GATEWAY_WORKER_SOCKET) else {
                throw WorkerArguments.UsageError(message: "without --listen only the gateway can start a worker")
            }
            guard notify_gateway_guard_worker(NOTIFY_GATEWAY_WORKER_SOCKET) == 0 else { exit(1) }
            notify_gateway_harden_worker()
            exit(serve(NOTIFY_GATEWAY_WORKER_SOCKET, arguments))
        } catch {
            WorkerLog.write(error.message)
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
}
