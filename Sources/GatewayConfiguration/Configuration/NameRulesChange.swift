package import GatewayCore
internal import GatewayStore
package import GatewaySupport

/// A change of the rules for user names in a ledger. It can rename an owner or merge two owners.
package struct NameRulesChange {
    private let old: NameRules?
    private let new: NameRules

    /// Creates the change from rules in their stored form; nil if the rules are the same.
    package init?(from storedForm: String?, to names: NameRules) {
        guard let storedForm, storedForm != names.storedForm else { return nil }
        old = NameRules(storedForm: storedForm)
        new = names
    }

    /// Returns the problems of a ledger that another process may have open.
    package static func problems(ofLedger file: String, for names: NameRules) -> [ConfigurationProblem] {
        do throws(LedgerUnavailable) {
            guard let found = try LedgerNames(file: file) else { return [] }
            return NameRulesChange(from: found.rules, to: names)?.problems(file: file, owners: found.owners) ?? []
        } catch {
            return [
                ConfigurationProblem(
                    at: SourceLocation(file: file), path: "", "cannot be read: \(error.detail)", severity: .warning)
            ]
        }
    }

    /// Returns the problems for the operator: the gateway does not start by itself, and which users are affected.
    package func problems(file: String, owners: [UserName]) -> [ConfigurationProblem] {
        let location = SourceLocation(file: file)
        let fault = ConfigurationProblem(
            at: location, path: "",
            "its names were made with another \"identity\"; check the listed changes, then start with "
                + "--accept-identity-change")
        return [fault]
            + effects(on: owners).map { ConfigurationProblem(at: location, path: "", $0, severity: .warning) }
    }

    /// Returns a line for each owner who is renamed or has no canonical name, and for each group of owners who become
    /// one user.
    package func effects(on owners: [UserName]) -> [String] {
        var lines: [String] = []
        var meeting: [UserName: Set<UserName>] = [:]
        for owner in owners {
            let spellings = old?.spellings(of: owner) ?? []
            // Under rules that are not known, the canonical name is the only spelling that is.
            for spelling in spellings.isEmpty ? [LoginName(owner.text)] : spellings {
                let name =
                    spelling.text == owner.text ? "\(owner)" : "\(spelling.text.debugDescription), now \(owner),"
                guard let user = new.canonical(spelling) else {
                    lines.append("\(name) would have no canonical form")
                    continue
                }
                meeting[user, default: []].insert(owner)
                if user != owner { lines.append("\(name) would be \(user)") }
            }
        }
        for (user, met) in meeting.sorted(by: { $0.key < $1.key }) where met.count > 1 {
            let names = met.sorted().map(\.text).joined(separator: ", ")
            lines.append("\(names) would be one user, \(user)")
        }
        return lines
    }
}
