import ArgumentParser
import GatewayCore
import GatewaySupport
import HMACToken

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
                keys = try TokenKeysFile.load(settings.keys)
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
            members.append(.init("issue", .bool(key.issues)))
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
