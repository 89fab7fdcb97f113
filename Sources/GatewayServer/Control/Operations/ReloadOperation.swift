internal import GatewayCore

/// `reload`: has every authenticator that lives on files read them again now. The answer is what is wrong with them.
struct ReloadOperation: ControlOperation {
    static let name = "reload"

    let reloading: ReloadService

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlFault) {
        let record = try await context.record(.operatorReload)
        guard let problems = await reloading.reloadNow() else {
            record.failed()
            throw .unavailable("The gateway is stopping.")
        }
        if problems.isEmpty { return }
        record.failed()
        for problem in problems {
            try await context.send(
                .object([
                    .init("file", .string(problem.location.file)),
                    .init("line", .number(String(problem.location.line))),
                    .init("column", .number(String(problem.location.column))),
                    .init("path", .string(problem.path)),
                    .init("message", .string(problem.message)),
                ]))
        }
        throw .refused("Where a file has problems, what was read of it before goes on to count.")
    }
}
