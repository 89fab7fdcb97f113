import ArgumentParser
import Foundation
import GatewayCore
import GatewayServer

/// `registrations`: which devices are registered for whom.
struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations", abstract: "Show and revoke who owns which device registration.",
        discussion: "Asks the running gateway; where none runs, works on its ledger.",
        subcommands: [List.self, Revoke.self, Import.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List registrations.",
            discussion: """
                An unconfirmed registration was imported, and its device has not registered through the gateway yet. It is deleted at
                the time under CONFIRM UNTIL unless its device registers again, logged in as its user.

                Example: notify-gateway registrations list --user alice --config gateway.yaml
                """)

        @Option(help: "Only this user's.") var user: String?
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.printEither(
                ControlRequest("registrations list", user.map { [.init("user", .string($0))] } ?? []),
                columns: [
                    .init("registration", "REGISTRATION"), .init("user", "USER"), .init("platform", "PLATFORM"),
                    .init("state", "STATE"), .init("last_seen", "LAST SEEN"), .init("hand_overs", "HAND-OVERS"),
                    .init("confirm_until", "CONFIRM UNTIL"),
                ])
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have a registration deleted at the backend.",
            discussion: """
                Nobody reaches the device by it from then on; the device may register again. Recorded with your uid. Where no
                gateway runs, the backend is asked at its next start.

                Example: notify-gateway registrations revoke 7260336227650468927-4200236381151834034-1
                """)

        @Argument(help: "The registration's id.") var registration: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let request = ControlRequest(
                "registrations revoke", [.init("registration", .string(registration))])
            if let fault = try await gateway.askEither(request, onItem: { _ in }) { throw fault }
            Console.complain("\(registration.printable) is revoked.")
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take in the hub's registrations from before the gateway.",
            discussion: """
                Reads an export of the hub, one Atom entry a line. Sound registrations are their owners' from then on, but
                unconfirmed: before the gateway anybody could register a device under anybody's name. Each is deleted at the backend
                unless its device registers again, logged in as its owner, within ledger.confirm-imported-within (30 days unless
                configured). The others are listed, each with the reason, and with --purge deleted at the backend. A second
                import changes nothing. Recorded with your uid. Where no gateway runs, the backend is asked at its next start.

                Example: notify-gateway registrations import registrations.xml --purge --config gateway.yaml
                """)

        @Argument(help: "The export; the gateway must be able to read it.") var file: String
        @Flag(help: "Have rejected registrations deleted at the backend.") var purge = false
        @Flag(
            help: ArgumentHelp(
                "Vouch for every sound registration of the export: none of them is deleted for want of confirmation.",
                discussion: "For hubs that nobody else could reach. Confirms those of earlier imports too."))
        var confirmAll = false
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            var items: [JSONValue] = []
            let fault = try await gateway.askEither(
                ControlRequest(
                    "registrations import",
                    [
                        .init("file", .string(path)), .init("purge", .bool(purge)),
                        .init("confirm-all", .bool(confirmAll)),
                    ])
            ) { items.append($0) }
            // The last one says how many; without it the import was broken off.
            let summary = items.last?["bound"] == nil ? nil : items.popLast()
            try gateway.results.say(
                items,
                columns: [
                    .init("line", "LINE"), .init("registration", "REGISTRATION"), .init("platform", "PLATFORM"),
                    .init("result", "RESULT"), .init("reason", "REASON"),
                ])
            if let fault { throw fault }
            let counts = ["bound", "known", "rejected", "purged", "skipped", "confirmed"].map { name in
                "\(name) \(summary?[name]?.integer ?? 0)"
            }
            Console.complain("Registrations: \(counts.joined(separator: ", ")).")
            let unconfirmed = summary?["unconfirmed"]?.integer ?? 0
            if unconfirmed > 0 {
                Console.complain(
                    "\(unconfirmed) \(unconfirmed == 1 ? "is" : "are") unconfirmed: deleted unless the device registers "
                        + "again in time; see \"registrations list\".")
            }
        }
    }
}
