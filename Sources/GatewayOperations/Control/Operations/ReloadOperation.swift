internal import GatewayCore
internal import GatewaySupport

/// `reload`: reads the configuration and all files that it names again. The results are their problems. If one of them
/// is an error, nothing has changed.
struct ReloadOperation: ControlOperation {
    static let name = "reload"

    /// Reloads, and returns the problems; nil if the gateway is stopping.
    let reload: @Sendable () async -> [ConfigurationProblem]?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let record = try await context.record(.operatorReload)
        guard let problems = await reload() else {
            record.failed()
            throw .unavailable("The gateway is stopping.")
        }
        let isApplied = !problems.contains { $0.severity == .error }
        if !isApplied { record.failed() }
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
        if !isApplied { throw .refused("The configuration was rejected; the previous one stays in effect.") }
    }
}
