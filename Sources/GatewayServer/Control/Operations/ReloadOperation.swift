internal import GatewayCore

/// `reload`: has the configuration and all files that it names read again now. The answer is what is wrong with them; an error
/// among it says that nothing was changed.
struct ReloadOperation: ControlOperation {
    static let name = "reload"

    let reloading: ReloadService

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let record = try await context.record(.operatorReload)
        guard let problems = await reloading.reloadNow() else {
            record.failed()
            throw .unavailable("The gateway is stopping.")
        }
        let isTaken = !problems.contains { $0.severity == .error }
        if !isTaken { record.failed() }
        for problem in problems {
            try await context.send(
                .object([
                    .init("file", .string(problem.location.file)),
                    .init("line", .number(String(problem.location.line))),
                    .init("column", .number(String(problem.location.column))),
                    .init("path", .string(problem.path)),
                    .init("message", .string(problem.message)),
                    .init("severity", .string(problem.severity.rawValue)),
                ]))
        }
        if !isTaken { throw .refused("Nothing was changed: what was read before goes on to count.") }
    }
}
