import ArgumentParser
import Foundation
import GatewayOperations
import GatewaySupport

/// The options of commands that may delete registrations of the hub which others made.
struct DeletionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Also have registrations of these kinds deleted: installations, templates, no-user, …",
            discussion: "Separated by commas. docs/migration.md lists the kinds. They may belong to other apps.",
            valueName: "kinds"))
    var delete: String?
    @Flag(help: "Confirm the number of deletions in advance.") var yes = false
    @Flag(help: "Allow the deletion of more than a tenth of all registrations.") var all = false
    @Flag(help: "Assign installations of one user to the user.") var adoptInstallations = false

    /// Performs a request that may delete registrations. If the gateway asks for a confirmation and the standard input is
    /// a terminal, asks the operator and requests it again.
    ///
    /// - Returns: The results, the totals if the operation was completed, and the reason of its failure.
    func perform(
        _ request: ControlRequest, with gateway: ControlOption
    ) async throws -> (items: [JSONValue], totals: JSONValue?, fault: CommandFailure?) {
        let kinds = delete.map { $0.split(separator: ",").map { JSONValue.string(String($0)) } } ?? []
        var request = request
        request.arguments += [
            .init("delete", .array(kinds)), .init("all", .bool(all)),
            .init("adopt_installations", .bool(adoptInstallations)),
        ]
        var confirmed = yes ? Self.anyNumber : nil
        while true {
            var items: [JSONValue] = []
            var attempt = request
            if let confirmed { attempt.arguments.append(.init("confirmed", .string(String(confirmed)))) }
            let fault = try await gateway.perform(attempt, mayTakeMinutes: true) { items.append($0) }
            // The last result contains the totals. Without it, the command was interrupted.
            let hasTotals = items.last?["planned"] != nil || items.last?["skipped"] != nil
            let totals = hasTotals ? items.popLast() : nil
            guard let fault, confirmed == nil, let planned = totals?["planned"]?.integer, Console.isInteractive else {
                return (items, totals, fault)
            }
            Console.printMessage(fault.message)
            Console.printMessage("Delete them? [y/N]")
            guard readLine()?.lowercased() == "y" else { return (items, nil, fault) }
            confirmed = Int(planned)
        }
    }

    /// More than a hub can have.
    private static let anyNumber = 1_000_000_000
}
