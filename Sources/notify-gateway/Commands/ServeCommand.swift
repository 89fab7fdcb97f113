import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import Logging

/// `serve`: runs the gateway until it is stopped.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the gateway.",
        discussion: "Example: notify-gateway serve --config /etc/notify-gateway/gateway.yaml")

    @OptionGroup var file: ConfigurationOption

    @Flag(
        help: ArgumentHelp(
            "Start although \"identity\" has changed; for one start.",
            discussion:
                "check prints which users that renames. They count as new users, and the old ones as removed."))
    var acceptIdentityChange = false

    @Flag(
        help: ArgumentHelp(
            "Keep the sessions of a ledger that was restored from a backup; for one start.",
            discussion:
                "By default all of them end, because the backup does not contain later revocations. Users log in again."
        ))
    var keepRestoredSessions = false

    @Flag(
        help: ArgumentHelp(
            "Treat the store in PostgreSQL as restored from an older copy; for one start.",
            discussion:
                "Needed if the server was restored to a moment within the gateway's last run, which nothing else shows."
        ))
    var restoredStore = false

    func run() async throws {
        let configuration = try file.load()
        var permissions: StartPermissions = []
        if acceptIdentityChange { permissions.insert(.identityChange) }
        if keepRestoredSessions { permissions.insert(.restoredSessions) }
        if restoredStore { permissions.insert(.restoredStore) }
        let server = GatewayServer(
            configuration: configuration, from: ConfigurationSource(file: file.config, catalog: .all),
            logger: .server(configuration.log), permitting: permissions)
        try await server.runReportingProblems()
    }
}

extension GatewayServer {
    /// Runs the gateway, and reports errors in words for an operator.
    func runReportingProblems() async throws {
        do {
            try await run()
        } catch let problems as ConfigurationError {
            throw CommandFailure.refused(problems.description)
        } catch let fault as ListenAddressError {
            throw CommandFailure.refused(fault.description)
        } catch {
            throw CommandFailure.unavailable("The gateway stopped: \(OperatorMessage.of(error))")
        }
    }
}
