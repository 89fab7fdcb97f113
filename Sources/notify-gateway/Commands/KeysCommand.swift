public import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
public import HMACToken

/// `keys`: lists and changes the keys that sign tokens.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List and change the keys that sign tokens.",
        subcommands: [List.self, Rotate.self])

    /// `keys rotate`: adds a signing key and expires the previous one later.
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
        private static let distributionDelay = Duration.seconds(5)

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            let edited: (fresh: TokenKey, weak: [String])
            do {
                let names = ConfigurationFile.names(in: file.config)
                edited = try TokenKeysFile.edit(settings.keys, names: names, dropsWeakKeys: true) {
                    keys throws(ConfigurationError) in
                    let fresh = try keys.rotate(
                        now: Clocks.system.wall(),
                        overlap: overlap ?? TokenKeysFile.overlap(lifetime: settings.lifetime),
                        algorithm: algorithm, id: id, startsIn: keys.keys.isEmpty ? .zero : Self.distributionDelay)
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

extension KeysCommand {
    /// `keys list`: lists the keys with their states, without secrets.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys and their states.",
            discussion: """
                The keys are in the order of the file. The states are signs, verifies, pending before its not-before, \
                and expired. Secrets are not shown.

                Example: notify-gateway keys list --config gateway.yaml
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var results: ResultOption

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            let keys: TokenKeysFile
            do {
                keys = try TokenKeysFile.load(settings.keys, names: ConfigurationFile.names(in: file.config))
            } catch {
                throw CommandFailure.refused(error.description)
            }
            guard !keys.keys.isEmpty else { throw CommandFailure.refused("\(settings.keys) has no keys.") }
            let now = Clocks.system.wall()
            try results.print(
                keys.statuses(at: now).map(Self.item),
                columns: [
                    .init("id", "ID"), .init("algorithm", "ALGORITHM"), .init("state", "STATE"),
                    .init("not-before", "NOT BEFORE"), .init("not-after", "NOT AFTER"), .init("issue", "ISSUES"),
                    .init("subjects", "SUBJECTS", absent: "(any)"), .init("groups", "GROUPS", absent: "(any)"),
                ])
            if keys.signingKey(at: now) == nil { Console.printMessage("No key signs tokens at present.") }
        }

        private static func item(_ key: TokenKey, _ status: TokenKeyStatus) -> JSONValue {
            var members = [
                JSONValue.Member("id", .string(key.id)), .init("algorithm", .string(key.algorithm.rawValue)),
                .init("state", .string(status.rawValue)),
            ]
            if let time = key.notBefore { members.append(.init("not-before", .string(time.inSeconds))) }
            if let time = key.notAfter { members.append(.init("not-after", .string(time.inSeconds))) }
            members.append(.init("issue", .bool(key.mayIssueTokens)))
            if let subjects = key.subjects {
                members.append(.init("subjects", .array(subjects.map { .string($0.description) })))
            }
            if let groups = key.groups {
                members.append(.init("groups", .array(groups.map(\.text).sorted().map(JSONValue.string))))
            }
            return .object(members)
        }
    }
}

extension WallTime {
    /// The time in RFC 3339, without a fraction if that is zero.
    var inSeconds: String { description.replacing(".000000Z", with: "Z") }
}
