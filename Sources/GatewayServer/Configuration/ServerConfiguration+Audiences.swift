internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    /// The most members that an audience may have.
    private static let longestAudience = 500

    /// Names of audiences, each with the users that a send to it goes to.
    static func readAudiences(
        _ reader: ConfigurationReader?, _ names: NameRules
    ) -> [AudienceName: [UserName]] {
        guard let reader else { return [:] }
        var audiences: [AudienceName: [UserName]] = [:]
        for entry in reader.allEntries() {
            guard let name = AudienceName(entry.name) else {
                reader.report(
                    at: entry.location, under: entry.name,
                    "is no name of an audience; write up to 64 letters, digits, _ . and -")
                continue
            }
            let members = members(entry.name, reader, names)
            guard audiences.updateValue(members, forKey: name) == nil else {
                reader.report(at: entry.location, under: entry.name, "stands more than once, but for its case")
                continue
            }
        }
        return audiences
    }

    private static func members(_ name: String, _ reader: ConfigurationReader, _ names: NameRules) -> [UserName] {
        let values = reader.sequence(name) ?? []
        var members: [UserName] = []
        var known: Set<UserName> = []
        for value in values {
            guard let text = reader.string(of: value.node, under: value.path) else { continue }
            // Escaping would make a user of anything.
            guard !text.contains(":"), !text.contains("*"), let user = names.canonical(text) else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "\"\(text)\" is no user; audiences hold users alone, no groups and no audiences")
                continue
            }
            guard known.insert(user).inserted else {
                reader.report(at: value.node.location, under: value.path, "\"\(user)\" is a member already")
                continue
            }
            members.append(user)
        }
        if !(1...longestAudience).contains(values.count) {
            reader.report(name, "must have from 1 to \(longestAudience) members")
        }
        return members
    }

    /// Warns of audiences that nobody can send to.
    static func warnOfUnreachable(
        _ reader: ConfigurationReader?, _ audiences: [AudienceName: [UserName]], _ policy: Policy?, _ limits: [Limit]
    ) {
        guard let reader, let policy else { return }
        for entry in reader.allEntries() {
            guard let name = AudienceName(entry.name), let members = audiences[name] else { continue }
            if !policy.send.contains(where: { $0.to == .audience(name) }) {
                reader.report(
                    entry.name, "stands in no rule of policy.send: nobody may send to it", severity: .warning)
            }
            for limit in limits where limit.asksForAllMembers && limit.burst < members.count {
                reader.report(
                    entry.name,
                    "has \(members.count) members, and the limit \"\(limit.name)\" admits \(limit.burst) sends at once: "
                        + "nobody can send to it",
                    severity: .warning)
            }
        }
    }
}

extension Limit {
    /// Whether a send to an audience costs one a member, all at once, and is refused where there is not that much.
    fileprivate var asksForAllMembers: Bool {
        audienceCost == .member && !per.contains(.recipient) && !countsLogins && !isShadow && exempt.isEmpty
    }
}
