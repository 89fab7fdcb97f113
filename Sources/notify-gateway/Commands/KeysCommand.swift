public import ArgumentParser
import GatewayCore
import GatewayServer
public import HMACToken

/// `keys`: the keys that tokens are signed with.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List and change the keys that tokens are signed with.",
        subcommands: [List.self, Rotate.self])

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a fresh key first; the former one verifies until its last token has ended.",
            discussion: """
                Makes the key file where there is none. Keys with weak secrets, with which the gateway does not start, are removed.

                Example: notify-gateway keys rotate --algorithm HS512 --config gateway.yaml
                """)

        @Option(help: "HS256, HS384 or HS512.") var algorithm: TokenAlgorithm = .hs256
        @Option(help: "The fresh key's id; unless given, made of the date.") var id: String?
        @Option(help: "How long the former key verifies, such as 2h; unless given, as long as its last token.")
        var overlap: Duration?
        @OptionGroup var file: ConfigurationOption

        /// How long before a fresh key signs: every gateway has read the file by then.
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
                Console.complain(
                    "\(settings.keys): \(id) was removed, its secret was weak; its tokens are refused from now on.")
            }
            Console.complain(
                "\(settings.keys): \(edited.fresh.id) signs from \(edited.fresh.notBefore.map(\.description) ?? "now") on."
            )
        }
    }
}

extension TokenAlgorithm: ExpressibleByArgument {}
