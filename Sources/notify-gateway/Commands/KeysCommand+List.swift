import ArgumentParser
import GatewayCore
import HMACToken

extension KeysCommand {
    /// `keys list`: the keys, and which of them signs now; never a secret.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys, and which of them signs now.",
            discussion: """
                In the order of the file. A key signs or verifies, is pending or has expired. No secret is shown.

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
            try results.say(
                keys.statuses(at: now).map(Self.item),
                columns: [
                    .init("id", "ID"), .init("algorithm", "ALGORITHM"), .init("state", "STATE"),
                    .init("not-before", "NOT BEFORE"), .init("not-after", "NOT AFTER"), .init("issue", "ISSUES"),
                    .init("subjects", "SUBJECTS", absent: "(any)"), .init("groups", "GROUPS", absent: "(any)"),
                ])
            if keys.signingKey(at: now) == nil { Console.complain("No key signs at present.") }
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
    /// RFC 3339, without a fraction where there is none.
    var inSeconds: String { description.replacing(".000000Z", with: "Z") }
}
