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
            discussion: "Example: notify-gateway registrations list --user alice --config gateway.yaml")

        @Option(help: "Only this user's.") var user: String?
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.printEither(
                ControlRequest("registrations list", user.map { [.init("user", .string($0))] } ?? []),
                columns: [
                    .init("registration", "REGISTRATION"), .init("user", "USER"), .init("platform", "PLATFORM"),
                    .init("state", "STATE"), .init("last_seen", "LAST SEEN"), .init("hand_overs", "HAND-OVERS"),
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
                Reads an export of the hub, one Atom entry a line. Sound registrations are their owners' from then on; the others
                are listed, each with the reason, and with --purge deleted at the backend. A second import changes nothing.
                Recorded with your uid. Where no gateway runs, the backend is asked at its next start.

                Example: notify-gateway registrations import registrations.xml --purge --config gateway.yaml
                """)

        @Argument(help: "The export; the gateway must be able to read it.") var file: String
        @Flag(help: "Have unsound registrations deleted at the backend.") var purge = false
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            var items: [JSONValue] = []
            let fault = try await gateway.askEither(
                ControlRequest(
                    "registrations import", [.init("file", .string(path)), .init("purge", .bool(purge))])
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
            let counts = ["bound", "known", "unsound", "purged", "left-alone"].map { name in
                "\(name) \(summary?[name]?.integer ?? 0)"
            }
            Console.complain("Registrations: \(counts.joined(separator: ", ")).")
        }
    }
}
