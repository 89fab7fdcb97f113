import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit key`: the public part of the key that signs the journal.
    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key",
            abstract: "Prints the public key that checks the journal's checkpoints.",
            discussion: """
                Keep it where the gateway's user cannot write, and give it to audit verify.

                Example: notify-gateway audit key >> /media/elsewhere/journal-keys
                """)

        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let journal = try file.load().journal
            do {
                let key = try SigningKeyFile.open(
                    journal.signingKey, outside: journal.directory, mayCreate: false)
                try Console.say(key.publicKey.text)
            } catch let failure as SigningKeyFile.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }
    }
}
