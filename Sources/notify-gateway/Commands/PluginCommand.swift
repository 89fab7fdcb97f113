import ArgumentParser
import ExternalProcess

/// `plugin`: for whoever writes an authenticator.
struct PluginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin", abstract: "Try an authenticator of one's own.", subcommands: [Test.self])

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say whether a process keeps to the protocol of external-process.",
            discussion: """
                Plays the gateway at the process, and then everything that a gateway never does. Nobody is logged in; the
                process sees some dozens of failed logins. Prints one line a check, and exits 1 if one failed.

                Example: notify-gateway plugin test /run/authenticator.sock
                """)

        @Argument(help: "The Unix socket that the process listens on.") var socket: String

        func run() async throws {
            var unwritten: (any Error)?
            let isGood = await ExternalProcessConformance(socket: socket).run { result in
                do { try Console.say(result.description) } catch { unwritten = error }
            }
            if let unwritten { throw unwritten }
            if !isGood { throw CommandFailure.refused("The process does not keep to the protocol.") }
        }
    }
}
