import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewaySupport

extension RegistrationsCommand {
    /// `registrations reconcile`: compares the registrations of the notification hub with the ledger.
    struct Reconcile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare the hub's registrations with the gateway's, and repair differences.",
            discussion: """
                Lists all registrations of the notification hub, which needs a key with the right Manage. The \
                connection string is used for this command alone and is stored nowhere. Lists what only the hub has \
                (unrecorded), what the hub has for somebody else or with forbidden tags (differing), and what only the \
                gateway has (missing).

                With --apply, valid unrecorded registrations are assigned to their owners, unconfirmed as after an \
                import. Those that receive for another user (from-tag, several-users, registered-anew, other-user, \
                other-handle) and those that are missing at the hub are deleted, at the hub too. Their devices \
                register again when their apps are opened next. All others, such as installations and registrations \
                without a user, may belong to other apps and are left alone, unless --delete names their kind. \
                Recorded with your uid. If no gateway runs, the next start deletes registrations at the hub.

                Example: notify-gateway registrations reconcile --connection-string manage.txt --config gateway.yaml
                """)

        @Option(
            help: ArgumentHelp(
                "A file with a connection string of the hub whose key has the right Manage; - for standard input.",
                valueName: "file"))
        var connectionString: String
        @Flag(help: "Repair the differences.") var apply = false
        @OptionGroup var deletions: DeletionOptions
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let (items, summary, fault) = try await deletions.perform(
                ControlRequest(
                    "registrations reconcile",
                    [.init("connection_string", .string(try readConnectionString())), .init("apply", .bool(apply))]),
                with: gateway)
            try gateway.results.print(
                items,
                columns: [
                    .init("registration", "REGISTRATION"), .init("kind", "KIND"), .init("platform", "PLATFORM"),
                    .init("user", "USER"), .init("finding", "FINDING"), .init("reason", "REASON"),
                    .init("result", "RESULT"),
                ])
            if let fault { throw fault }
            guard let summary else { throw CommandFailure.unavailable("The comparison was interrupted.") }
            let repairs = apply ? ["bound", "purged", "dropped", "unchanged", "skipped"] : []
            var counts = (["equal", "in-progress"] + repairs).map { "\($0) \(summary[$0]?.integer ?? 0)" }
            if !apply { counts.append("different \(summary["listed"]?.integer ?? 0)") }
            Console.printMessage("Registrations: \(counts.joined(separator: ", ")).")
            if !apply, !items.isEmpty { Console.printMessage("Nothing was changed. --apply repairs the differences.") }
        }

        private func readConnectionString() throws -> String {
            do {
                let file =
                    connectionString == "-"
                    ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: connectionString))
                let bytes = try file.read(upToCount: Self.maximumLength + 1) ?? Data()
                guard bytes.count <= Self.maximumLength else {
                    throw CommandFailure.refused("\(connectionString.printable) is too long for a connection string.")
                }
                return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            } catch let fault as CommandFailure {
                throw fault
            } catch {
                throw CommandFailure.refused(
                    "\(connectionString.printable) cannot be read: \(OperatorMessage.of(error))")
            }
        }

        private static let maximumLength = 4096
    }
}
