import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayStore
import GatewaySupport

extension AuditCommand {
    /// `audit key`: prints the public key that verifies the journal's checkpoints.
    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key",
            abstract: "Print the public key that verifies the journal's checkpoints.",
            discussion: """
                Store it where the gateway's user cannot write, and pass it to audit verify.

                Example: notify-gateway audit key >> /media/elsewhere/journal-keys
                """)

        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let journal = try file.load().journal
            do {
                let key = try SigningKeyFile.open(
                    journal.signingKey, outside: journal.directory, mayCreate: false)
                try Console.printResult(key.publicKey.text)
            } catch let failure as SigningKeyFile.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }
    }
}
