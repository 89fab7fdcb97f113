import ArgumentParser
import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `registrations`: lists, revokes, imports and reconciles device registrations.
struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations", abstract: "List, revoke, import and reconcile device registrations.",
        discussion: "Queries the running gateway. If none runs, uses its ledger.",
        subcommands: [List.self, Revoke.self, Import.self, Reconcile.self])

    /// `registrations list`: lists the device registrations.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List registrations.",
            discussion: """
                An unconfirmed registration was imported, and its device has not registered through the gateway yet. \
                It is deleted at the time in CONFIRM UNTIL unless its device registers again, logged in as its user.

                Example: notify-gateway registrations list --user alice --config gateway.yaml
                """)

        @Option(help: "List only registrations of this user.") var user: String?
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.performAndPrint(
                ControlRequest("registrations list", user.map { [.init("user", .string($0))] } ?? []),
                columns: [
                    .init("registration", "REGISTRATION"), .init("user", "USER"), .init("platform", "PLATFORM"),
                    .init("backend", "BACKEND"), .init("state", "STATE"), .init("last_seen", "LAST SEEN"),
                    .init("hand_overs", "HAND-OVERS"),
                    .init("confirm_until", "CONFIRM UNTIL"),
                ])
        }
    }

    /// `registrations revoke`: deletes a registration at the backend.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a registration at the backend.",
            discussion: """
                The registration stops receiving; the device may register again. Recorded with your uid. If no gateway \
                runs, the next start deletes the registration at the backend.

                Example: notify-gateway registrations revoke 7260336227650468927-4200236381151834034-1
                """)

        @Argument(help: "The registration's id.") var registration: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let request = ControlRequest(
                "registrations revoke", [.init("registration", .string(registration))])
            if let fault = try await gateway.perform(request, onItem: { _ in }) { throw fault }
            Console.printMessage("Registration \(registration.printable) was revoked.")
        }
    }

    /// `registrations import`: imports the registrations from before the gateway.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import the hub's registrations from before the gateway.",
            discussion: """
                Reads an export of the hub, one registration per line. Valid registrations are assigned to their \
                owners, but are unconfirmed: before the gateway, anybody could register a device under any name. Each \
                is deleted at the backend unless its device registers again, logged in as its owner, within \
                ledger.confirm-imported-within (default: 30 days). The others are listed with the reason. With --purge \
                those are deleted at the backend that receive for another user: from-tag, several-users, \
                registered-anew. All others may belong to other apps and are left alone, unless --delete names their \
                kind. An import that recognizes no registration changes nothing and fails. Importing again changes \
                nothing. Recorded with your uid. If no gateway runs, the next start deletes registrations at the \
                backend.

                Example: notify-gateway registrations import registrations.xml --purge --config gateway.yaml
                """)

        @Argument(help: "The export file, or - for standard input.") var file: String
        @Flag(help: "Have registrations deleted at the backend that receive for another user.") var purge = false
        @Flag(
            help: ArgumentHelp(
                "Confirm every valid registration of the export, so that none of them is deleted later.",
                discussion: "For hubs that nobody else could reach. Also confirms those of earlier imports."))
        var confirmAll = false
        @OptionGroup var deletions: DeletionOptions
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let name = file == "-" ? "stdin" : URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            let (items, summary, fault) = try await gateway.withSpooledFile { spool in
                try spool.fill(from: file)
                return try await deletions.perform(
                    ControlRequest(
                        "registrations import",
                        [
                            .init("file", .string(spool.path)), .init("name", .string(name)),
                            .init("purge", .bool(purge)), .init("confirm_all", .bool(confirmAll)),
                        ]),
                    with: gateway)
            }
            try gateway.results.print(
                items,
                columns: [
                    .init("line", "LINE"), .init("registration", "REGISTRATION"), .init("kind", "KIND"),
                    .init("platform", "PLATFORM"), .init("result", "RESULT"), .init("reason", "REASON"),
                ])
            if let fault { throw fault }
            let counts = ["bound", "known", "rejected", "purged", "skipped", "confirmed"].map { name in
                "\(name) \(summary?[name]?.integer ?? 0)"
            }
            Console.printMessage("Registrations: \(counts.joined(separator: ", ")).")
            let unconfirmed = summary?["unconfirmed"]?.integer ?? 0
            if unconfirmed > 0 {
                Console.printMessage(
                    "\(unconfirmed) \(unconfirmed == 1 ? "is" : "are") unconfirmed and will be deleted unless the "
                        + "device registers again in time; see \"registrations list\".")
            }
        }
    }
}
