internal import Foundation
internal import GatewayCore
internal import WorkerProcesses

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
            guard WorkerServer.hasConnection else {
                throw WorkerArguments.UsageError(message: "without --listen only the gateway can start a worker")
            }
            guard WorkerServer.isolate() else { exit(1) }
            let state = WorkerState()
            exit(
                WorkerServer.serve(maximumLength: WorkerRequest.maximumLength, decode: WorkerRequest.read) {
                    request, nonce in
                    answer(to: request, arguments, state).packet(nonce, after: state.changes())
                })
        } catch {
            WorkerLog.write(error.message)
            exit(2)
        }
    }

    private static func answer(
        to request: WorkerRequest, _ arguments: WorkerArguments, _ state: WorkerState
    ) -> WorkerResponse {
        guard request.service == arguments.service else { return .rejection(.otherService) }
        let stack = ServiceStack(service: arguments.service, directory: arguments.serviceDirectory)
        if let problem = stack.errors.first { return .invalidStack(problem.description) }
        if let entry = SystemAccounts.entryBelowMinimum(request) {
            return .workerResult(WorkerResult(authentication: nil, account: nil, user: request.user, entry: entry))
        }
        return PAMTransaction.answer(to: request, stack, directory: arguments.serviceDirectory, in: state)
    }
}
