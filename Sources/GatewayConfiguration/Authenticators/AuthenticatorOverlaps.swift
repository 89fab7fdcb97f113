internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// The pairs of authenticators that may authenticate the same user name. Equal names count as one user, so each pair is
/// a warning that says how to separate the two.
///
/// An authenticator with a users file has the names of the file and no others, as far as its `users` allows them.
struct AuthenticatorOverlaps {
    /// One authenticator, with the users that it has if a file lists them.
    struct Member: Sendable {
        let plugin: ConfiguredPlugin
        let listed: Set<UserName>?
    }

    /// The names that two authenticators may share.
    private enum Shared {
        /// Names that cannot be listed, because neither authenticator knows its users in advance.
        case patterns
        /// The names of a users file that the other authenticator may authenticate too.
        case names([UserName])
    }

    /// In the order of the configuration.
    let members: [Member]

    /// The number of names that a warning lists.
    private static let maximumNames = 5

    /// The warnings, one for each pair, at the later authenticator.
    var problems: [ConfigurationProblem] {
        members.indices.flatMap { index in
            members[..<index].compactMap { earlier in
                Self.shared(earlier, members[index]).map { problem(of: members[index], with: earlier, $0) }
            }
        }
    }

    private static func shared(_ left: Member, _ right: Member) -> Shared? {
        // Tokens that the gateway issues contain the names of users of the other authenticators on purpose.
        guard left.plugin.accountStatusSupport != .ofOthers, right.plugin.accountStatusSupport != .ofOthers,
            left.plugin.scope.overlaps(right.plugin.scope)
        else { return nil }
        let names: Set<UserName>
        switch (left.listed, right.listed) {
        case (nil, nil): return .patterns
        case (let listed?, nil), (nil, let listed?): names = listed
        case (let listed?, let other?): names = listed.intersection(other)
        }
        let shared = names.filter { left.plugin.scope.contains($0) && right.plugin.scope.contains($0) }
        return shared.isEmpty ? nil : .names(shared.sorted())
    }

    private func problem(of later: Member, with earlier: Member, _ shared: Shared) -> ConfigurationProblem {
        let order =
            earlier.plugin.credentialKinds.isDisjoint(with: later.plugin.credentialKinds)
            ? "" : ", which is queried first"
        let other = earlier.plugin.path
        let finding: String
        switch shared {
        case .patterns: finding = "may authenticate the same names as \(other)"
        case .names(let names):
            let rest = names.count - Self.maximumNames
            let list =
                names.prefix(Self.maximumNames).map(\.text).joined(separator: ", ")
                + (rest > 0 ? " and \(rest) more" : "")
            let number = "\(names.count) \(names.count == 1 ? "name" : "names")"
            finding =
                earlier.listed == nil
                ? "has \(number) that \(other) may authenticate too (\(list))"
                : "may authenticate \(number) of \(other) too (\(list))"
        }
        return ConfigurationProblem(
            at: later.plugin.location, path: later.plugin.path,
            "\(finding)\(order); equal names count as one user; \(advice(later, earlier))", severity: .warning)
    }

    /// Returns what to write so that no name matches twice.
    private func advice(_ later: Member, _ earlier: Member) -> String {
        switch (earlier.listed, later.listed) {
        case (nil, nil), (_?, _?):
            "limit both with \"users\" so that no name matches twice, such as users: [\"svc-*\"] for one of them"
        case (_?, nil): "limit \(later.plugin.path) with \"users\" to names that the file of the other does not have"
        case (nil, _?): "limit \(earlier.plugin.path) with \"users\" to names that this file does not have"
        }
    }
}
