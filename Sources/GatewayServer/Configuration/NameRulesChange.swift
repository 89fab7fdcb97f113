internal import GatewayCore
internal import GatewayStore

/// Other rules of names than those by which a ledger's names were made: some of its owners would be others, or the same.
struct NameRulesChange {
    private let old: NameRules?
    private let new: NameRules

    /// The change from the rules of a stored form; nil where there is none.
    init?(from storedForm: String?, to names: NameRules) {
        guard let storedForm, storedForm != names.storedForm else { return nil }
        old = NameRules(storedForm: storedForm)
        new = names
    }

    /// The problems of a ledger that may be open elsewhere.
    static func problems(ofLedger file: String, for names: NameRules) -> [ConfigurationProblem] {
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

    /// What to tell whoever changed the rules: that the gateway does not start by itself, and whom it concerns.
    func problems(file: String, owners: [UserName]) -> [ConfigurationProblem] {
        let location = SourceLocation(file: file)
        let fault = ConfigurationProblem(
            at: location, path: "",
            "its names were made by another \"identity\"; serve starts with --accept-identity-change only")
        return [fault]
            + effects(on: owners).map { ConfigurationProblem(at: location, path: "", $0, severity: .warning) }
    }

    /// Who would be somebody else, or nobody, and who would meet.
    func effects(on owners: [UserName]) -> [String] {
        var lines: [String] = []
        var meeting: [UserName: Set<UserName>] = [:]
        for owner in owners {
            let spellings = old?.spellings(of: owner) ?? [owner.text]
            for spelling in spellings.isEmpty ? [owner.text] : spellings {
                let name = spelling == owner.text ? "\(owner)" : "\(spelling.debugDescription), who is \(owner),"
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
