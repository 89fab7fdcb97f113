public import ArgumentParser
import GatewayCore
import GatewayServer
import GatewaySupport
public import HMACToken

/// `keys`: lists and changes the keys that sign tokens.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List and change the keys that sign tokens.",
        subcommands: [List.self, Rotate.self])

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a new signing key; the previous one verifies until its last token has expired.",
            discussion: """
                Creates the key file if it does not exist. Removes keys with weak secrets, which prevent a start of \
                the gateway.

                Example: notify-gateway keys rotate --algorithm HS512 --config gateway.yaml
                """)

        @Option(help: "HS256, HS384 or HS512.") var algorithm: TokenAlgorithm = .hs256
        @Option(help: "The id of the new key. Default: derived from the date.") var id: String?
        @Option(help: "How long the previous key verifies, such as 2h. Default: until its last token expires.")
        var overlap: Duration?
        @OptionGroup var file: ConfigurationOption

        /// The time before a new key signs, in which every gateway reads the file.
        private static let notice = Duration.seconds(5)

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            let edited: (fresh: TokenKey, weak: [String])
            do {
                edited = try TokenKeysFile.edit(settings.keys, dropsWeakKeys: true) { keys throws(ConfigurationError) in
                    let fresh = try keys.rotate(
                        now: Clocks.system.wall(),
                        overlap: overlap ?? TokenKeysFile.overlap(lifetime: settings.lifetime),
                        algorithm: algorithm, id: id, startsIn: keys.keys.isEmpty ? .zero : Self.notice)
                    return (fresh, keys.weakIDs)
                }
            } catch {
                throw CommandFailure.refused(error.description)
            }
            for id in edited.weak {
                Console.printMessage(
                    "\(settings.keys): key \(id) was removed because its secret was weak; its tokens are rejected now.")
            }
            Console.printMessage(
                "\(settings.keys): key \(edited.fresh.id) signs from \(edited.fresh.notBefore?.description ?? "now") on."
            )
        }
    }
}

extension TokenAlgorithm: ExpressibleByArgument {}
