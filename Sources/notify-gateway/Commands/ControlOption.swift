import ArgumentParser
import Foundation
import GatewayCore
import GatewayServer
import Logging

/// What every command has that asks the running gateway: which gateway, and how the results are printed.
struct ControlOption: ParsableArguments {
    @OptionGroup var file: ConfigurationOption
    @OptionGroup var results: ResultOption

    /// Asks, and hands over the results as they come.
    ///
    /// - Returns: Why not all was done; nil where it was.
    /// - Throws: `CommandFailure` where there is no gateway, or no answer.
    func ask(
        _ request: ControlRequest, isStream: Bool = false, onItem: (JSONValue) throws -> Void
    ) async throws -> CommandFailure? {
        let (socket, problems) = ConfigurationFile.control(in: file.config)
        guard let socket else {
            if let problem = problems.first { throw CommandFailure.refused(problem.description) }
            throw CommandFailure.unavailable(
                "No running gateway can be asked: \(file.config) says no \"control\", where its socket is.")
        }
        let progress = isStream ? nil : Console.progress("Waiting for the gateway …")
        defer { progress?.cancel() }
        do {
            let fault = try await ControlClient(path: socket).ask(request, isStream: isStream, onItem: onItem)
            return fault.map(CommandFailure.init)
        } catch let fault as ControlClientError {
            throw CommandFailure(fault)
        }
    }

    /// Asks the running gateway, or where none runs, works on its stores.
    ///
    /// The stores of a stopped gateway are changed as the user that they belong to, and read from a private copy.
    ///
    /// - Parameter readingOnly: Whether the request changes nothing.
    func askEither(
        _ request: ControlRequest, readingOnly: Bool = false, onItem: (JSONValue) throws -> Void
    ) async throws -> CommandFailure? {
        if let socket = ConfigurationFile.control(in: file.config).socket {
            do {
                return try await ControlClient(path: socket).ask(request, onItem: onItem).map(CommandFailure.init)
            } catch ControlClientError.noGateway {
            } catch let fault as ControlClientError {
                throw CommandFailure(fault)
            }
        }
        let configuration = try file.load()
        let gateway = StoppedGateway(
            configuration: configuration, logger: .server(.init(level: .warning, format: .text)))
        if readingOnly {
            return try await gateway.read(request, by: getuid(), onItem: onItem).map(CommandFailure.init)
        }
        try StoresOwner(of: configuration).assumeForCommand()
        return try await gateway.ask(request, by: getuid(), onItem: onItem).map(CommandFailure.init)
    }

    /// The same for a request that changes nothing, and prints the results.
    func printEither(_ request: ControlRequest, columns: [ResultTable.Column]) async throws {
        var items: [JSONValue] = []
        let fault = try await askEither(request, readingOnly: true) { items.append($0) }
        try results.say(items, columns: columns)
        if let fault { throw fault }
    }

    /// Asks and prints the results: as a table once all are there, or as JSON as they come.
    func print(_ request: ControlRequest, columns: [ResultTable.Column]) async throws {
        let fault: CommandFailure?
        if results.json {
            fault = try await ask(request) { try results.say($0) }
        } else {
            var table = ResultTable(columns)
            fault = try await ask(request) { table.add($0) }
            if !table.isEmpty { try Console.say(table.text) }
        }
        if let fault { throw fault }
    }
}

extension StoresOwner {
    /// Makes root the owner of the stores, or ends the command.
    func assumeForCommand() throws {
        do { try assume() } catch { throw CommandFailure.refused("\(error)") }
    }
}

extension CommandFailure {
    fileprivate init(_ fault: ControlError) {
        switch fault.kind {
        case .refused, .malformed: self = .refused(fault.reason.printable)
        case .unavailable: self = .unavailable(fault.reason.printable)
        }
    }

    fileprivate init(_ fault: ControlClientError) {
        switch fault {
        case .notAllowed, .tooLong: self = .refused(fault.description)
        case .noGateway, .unusable, .silent, .brokenOff: self = .unavailable(fault.description)
        }
    }
}
