import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import Logging

/// The options of all commands that query the running gateway: its configuration, and the output format.
struct ControlOption: ParsableArguments {
    @OptionGroup var file: ConfigurationOption
    @OptionGroup var results: ResultOption

    /// Sends a request to the running gateway and passes on the results as they arrive.
    ///
    /// - Returns: The reason of a failed operation; nil if it succeeded.
    /// - Throws: `CommandFailure` if no gateway runs or the response is incomplete.
    func send(
        _ request: ControlRequest, onItem: (JSONValue) throws -> Void
    ) async throws -> CommandFailure? {
        let (socket, problems) = ConfigurationFile.control(in: file.config)
        guard let socket else {
            if let problem = problems.first { throw CommandFailure.refused(problem.description) }
            throw CommandFailure.unavailable(
                "The running gateway cannot be reached: \(file.config) sets no \"control\" socket.")
        }
        let progress = Console.progress("Waiting for the gateway …")
        defer { progress?.cancel() }
        do {
            let fault = try await OperatorClient(path: socket).perform(request, onItem: onItem)
            return fault.map(CommandFailure.init)
        } catch let fault as OperatorClientError {
            throw CommandFailure(fault)
        }
    }

    /// Sends a request to the running gateway. If none runs, carries it out on the stores.
    ///
    /// The stores of a stopped gateway are changed as their owner, and read from a private copy.
    ///
    /// - Parameters:
    ///   - readingOnly: Whether the request changes nothing.
    ///   - mayTakeMinutes: Whether the gateway may be busy with the request for longer than the client's time limit.
    func perform(
        _ request: ControlRequest, readingOnly: Bool = false, mayTakeMinutes: Bool = false,
        onItem: (JSONValue) throws -> Void
    ) async throws -> CommandFailure? {
        if let socket = ConfigurationFile.control(in: file.config).socket {
            do {
                return try await OperatorClient(path: socket)
                    .perform(request, mayTakeMinutes: mayTakeMinutes, onItem: onItem).map(CommandFailure.init)
            } catch OperatorClientError.noGateway {
            } catch let fault as OperatorClientError {
                throw CommandFailure(fault)
            }
        }
        guard readingOnly else { return try await performOnStores(request, onItem: onItem) }
        return try await stoppedGateway(file.load())
            .read(request, by: .process(uid: getuid()), onItem: onItem).map(CommandFailure.init)
    }

    /// Carries out a request on the stores, as their owner. Fails if a gateway uses them.
    func performOnStores(
        _ request: ControlRequest, onItem: (JSONValue) throws -> Void
    ) async throws -> CommandFailure? {
        let configuration = try file.load()
        try StoresOwner(of: configuration).assumeForCommand()
        return try await stoppedGateway(configuration)
            .perform(request, by: .process(uid: getuid()), onItem: onItem).map(CommandFailure.init)
    }

    /// Calls the body with a private file through which it passes data to the gateway, or to the owner of the stores.
    func withSpooledFile<Value>(_ body: (SpooledFile) async throws -> Value) async throws -> Value {
        guard let ledger = ConfigurationFile.ledger(in: file.config) else {
            throw CommandFailure.refused("\(file.config) cannot be read. Nothing was changed.")
        }
        do {
            let spool = try SpooledFile(besideLedger: ledger)
            defer { spool.remove() }
            return try await body(spool)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure.refused("\(OperatorMessage.of(error)). Nothing was changed.")
        }
    }

    private func stoppedGateway(_ configuration: ServerConfiguration) -> StoppedGateway {
        StoppedGateway(configuration: configuration, logger: .server(.init(level: .warning, format: .text)))
    }

    /// Carries out a request that changes nothing, as `perform` does, and prints the results.
    func performAndPrint(_ request: ControlRequest, columns: [ResultTable.Column]) async throws {
        var items: [JSONValue] = []
        let fault = try await perform(request, readingOnly: true) { items.append($0) }
        try results.print(items, columns: columns)
        if let fault { throw fault }
    }

    /// Sends a request to the running gateway and prints the results: a table at the end, or JSON as they arrive.
    func sendAndPrint(_ request: ControlRequest, columns: [ResultTable.Column]) async throws {
        let fault: CommandFailure?
        if results.json {
            fault = try await send(request) { try results.print($0) }
        } else {
            var table = ResultTable(columns)
            fault = try await send(request) { table.add($0) }
            if !table.isEmpty { try Console.printResult(table.text) }
        }
        if let fault { throw fault }
    }
}

extension StoresOwner {
    /// Changes the user of the process from root to the owner of the stores. On failure, the command ends.
    func assumeForCommand() throws {
        do { try assume() } catch { throw CommandFailure.refused("\(error)") }
    }
}

extension CommandFailure {
    fileprivate init(_ fault: ControlError) {
        switch fault.kind {
        case .refused, .notFound, .malformed: self = .refused(fault.reason.printable)
        case .unavailable: self = .unavailable(fault.reason.printable)
        }
    }

    fileprivate init(_ fault: OperatorClientError) {
        switch fault {
        case .notAllowed, .tooLong: self = .refused(fault.description)
        case .noGateway, .unusable, .timedOut, .incompleteResponse: self = .unavailable(fault.description)
        }
    }
}

/// The option for the path of the configuration, shared by all commands that read it.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config: String = ConfigurationFile.standardPath

    /// Returns the configuration. Prints its problems to standard error, but no notes. An error among them ends the command.
    func load() throws -> ServerConfiguration {
        let (configuration, problems) = ConfigurationFile.load(config, catalog: .all)
        for problem in problems where problem.severity != .note { Console.printMessage(problem.description) }
        guard let configuration else {
            throw CommandFailure.refused("The configuration has errors; nothing was started.")
        }
        return configuration
    }

    /// Returns the settings of the first authenticator of a kind. Without one, the command fails.
    func settings<Plugin: AuthenticatorPlugin>(of plugin: Plugin.Type) throws -> Plugin.Settings {
        let (settings, problems) = ConfigurationFile.settings(of: plugin, in: config)
        if let settings { return settings }
        for problem in problems { Console.printMessage(problem.description) }
        throw CommandFailure.refused("\(config) contains no \(plugin.name) authenticator with valid settings.")
    }
}

/// The option for the output format, shared by all commands that print rows.
struct ResultOption: ParsableArguments {
    @Flag(help: "Print JSON, one object per line.") var json = false

    /// Prints one result as a line of JSON.
    func print(_ item: JSONValue) throws {
        try Console.printResult(String(decoding: JSONWriter.bytes(of: item), as: UTF8.self))
    }

    /// Prints all results: a table, or lines of JSON.
    func print(_ items: [JSONValue], columns: [ResultTable.Column]) throws {
        if json {
            for item in items { try print(item) }
        } else if !items.isEmpty {
            var table = ResultTable(columns)
            for item in items { table.add(item) }
            try Console.printResult(table.text)
        }
    }
}
