import ArgumentParser
import GatewayCore
import GatewayServer

/// `registrations`: which devices are registered for whom.
struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations", abstract: "Show and revoke who owns which device registration.",
        discussion: "Asks the running gateway; where none runs, works on its ledger.",
        subcommands: [List.self, Revoke.self])

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
}
