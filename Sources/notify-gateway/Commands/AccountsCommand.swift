import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewaySupport

/// `accounts`: lists and decides about ended accounts that wait, and about account lists that differ between gateways.
struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Decide about accounts whose end waits for an operator.",
        subcommands: [List.self, Apply.self])

    /// `accounts list`: lists the users who wait for `accounts apply`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the accounts whose end waits for an operator.",
            discussion: """
                These users are missing from their users file or directory, but so many at once that it may have lost \
                its entries. AUTHENTICATOR is the one whose file or directory lacks them.

                Example: notify-gateway accounts list --config gateway.yaml
                """)

        @OptionGroup var gateway: ControlOption

        func run() async throws {
            var table = ResultTable([.init("user", "USER"), .init("authenticator", "AUTHENTICATOR")])
            let fault = try await gateway.send(ControlRequest("accounts list")) { item in
                table.add(item)
                if gateway.results.json { try gateway.results.print(item) }
            }
            if let fault { throw fault }
            if table.isEmpty { return Console.printMessage("No account waits for an operator.") }
            if !gateway.results.json { try Console.printResult(table.text) }
        }
    }

    /// `accounts apply`: applies the account lists of the running gateway.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the accounts that wait for an operator.",
            discussion: """
                If more than ten users, and more than a tenth of all, are missing from their users file or directory at \
                once, their sessions and devices stay until this command: it may have lost its entries. `accounts list` names \
                them. The command ends their accounts within a second, those of a directory at the next \
                recheck, and is recorded with your uid.

                Gateways that share a store revoke the users that a file no longer has when all files agree. This \
                command then applies those of this gateway although others differ. The present files of the other \
                gateways do not undo it: nothing of them is applied until they change.

                Example: notify-gateway accounts apply --config gateway.yaml
                """)

        @OptionGroup var gateway: ControlOption

        func run() async throws {
            var hosts: [String] = []
            var ended: Int64 = 0
            let fault = try await gateway.send(ControlRequest("accounts apply")) { item in
                if gateway.results.json { try gateway.results.print(item) }
                if case .array(let values)? = item["overruled"] { hosts = values.compactMap(\.string) }
                ended = item["ended"]?.integer ?? 0
            }
            if let fault { throw fault }
            let others =
                hosts.isEmpty ? "" : " The account lists differ on: \(hosts.joined(separator: ", ").printable)."
            let users = ended == 0 ? "" : " \(ended) users who waited lose their sessions and devices."
            Console.printMessage("The account lists of this gateway apply.\(users)\(others)")
        }
    }
}
