internal import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// The maximum number of members of an audience.
    private static let maximumAudienceSize = 500

    /// Reads `audiences`: names of audiences, each with the users that receive a send to it.
    static func readAudiences(
        _ reader: ConfigurationReader?, _ names: NameRules
    ) -> [AudienceName: [UserName]] {
        guard let reader else { return [:] }
        var audiences: [AudienceName: [UserName]] = [:]
        for entry in reader.allEntries() {
            guard let name = AudienceName(entry.name) else {
                reader.report(
                    at: entry.location, under: entry.name,
                    "is not an audience name; use up to 64 letters, digits, _ . and -")
                continue
            }
            let members = members(entry.name, reader, names)
            guard audiences.updateValue(members, forKey: name) == nil else {
                reader.report(
                    at: entry.location, under: entry.name, "is a duplicate; audience names are not case-sensitive")
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
            guard let user = names.configuredUser(text) else {
                reader.report(
                    at: value.node.location, under: value.path,
                    "\"\(text)\" is not a user name; members are users, not groups or audiences"
                        + names.advice(on: text))
                continue
            }
            if let meaning = names.meaning(of: text, user) {
                reader.report(at: value.node.location, under: value.path, meaning, severity: .note)
            }
            guard known.insert(user).inserted else {
                reader.report(at: value.node.location, under: value.path, "\"\(user)\" is a duplicate member")
                continue
            }
            members.append(user)
        }
        if !(1...maximumAudienceSize).contains(values.count) {
            reader.report(name, "must have from 1 to \(maximumAudienceSize) members")
        }
        return members
    }

    /// Warns of audiences that no rule or limit allows a send to.
    static func warnOfUnreachable(
        _ reader: ConfigurationReader?, _ audiences: [AudienceName: [UserName]], _ policy: Policy?, _ limits: [Limit]
    ) {
        guard let reader, let policy else { return }
        for entry in reader.allEntries() {
            guard let name = AudienceName(entry.name), let members = audiences[name] else { continue }
            if !policy.send.contains(where: { $0.to == .audience(name) }) {
                reader.report(
                    entry.name, "is in no rule of policy.send; nobody may send to it", severity: .warning)
            }
            for limit in limits where limit.countsAllMembersAtOnce && limit.burst < members.count {
                reader.report(
                    entry.name,
                    "has \(members.count) members, but the limit \"\(limit.name)\" admits only \(limit.burst) sends at "
                        + "once; every send to it is rejected",
                    severity: .warning)
            }
        }
    }
}

extension Limit {
    /// Whether a send to an audience costs one per member at once, and is rejected if the limit has less left.
    fileprivate var countsAllMembersAtOnce: Bool {
        audienceCost == .member && !per.contains(.recipient) && !countsLogins && !isShadow && exempt.isEmpty
    }
}
