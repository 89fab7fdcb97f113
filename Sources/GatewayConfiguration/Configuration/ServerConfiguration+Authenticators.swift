internal import Gateway
package import GatewayCore
package import GatewaySupport

extension ServerConfiguration {
    /// Reads `authenticators`: a list of mappings of one plug-in's name to its settings.
    static func readAuthenticators(
        _ root: ConfigurationReader, _ names: NameRules, _ catalog: PluginCatalog
    ) -> [ConfiguredPlugin] {
        let allowed = catalog.names.joined(separator: ", ")
        guard let values = root.sequence("authenticators"), !values.isEmpty else {
            root.report("authenticators", "must name at least one of: \(allowed)")
            return []
        }
        var plugins: [ConfiguredPlugin] = []
        for value in values {
            let wrapper = root.reader(of: value.node, under: value.path)
            let entries = wrapper.allEntries()
            guard let entry = entries.first, entries.count == 1 else {
                wrapper.report("must be one plug-in name with its settings; available: \(allowed)")
                continue
            }
            guard catalog.contains(entry.name) else {
                wrapper.report(
                    at: entry.location, under: entry.name, "is not an authenticator; available: \(allowed)")
                continue
            }
            let reader = wrapper.reader(of: entry.value, under: entry.name)
            defer { reader.finish() }
            guard let plugin = catalog.configured(entry.name, reader, within: readBounds(reader, names)) else {
                continue
            }
            // Accounts are stored with the name of their authenticator, so its authenticators must agree on their status.
            if let other = plugins.first(where: {
                $0.name == plugin.name && $0.accountStatusSupport != plugin.accountStatusSupport
            }) {
                reader.report(
                    "and \(other.path) must either both report the status of accounts or both not, because accounts are "
                        + "stored with the name \(plugin.name) alone")
            }
            if let other = plugins.first(where: { $0.sharesUsersUnintentionally(with: plugin) }) {
                reader.report(
                    "may authenticate the same names as \(other.path); equal names count as one user; limit both with "
                        + "\"users\" so that no name matches twice")
            }
            if plugin.accountStatusSupport == .loginsOnly {
                reader.report(
                    "reports the status of an account only at a login; the sessions and devices of an ended account last "
                        + "until authentication.session-without-status and authentication.device-without-status",
                    severity: .warning)
            }
            plugins.append(plugin)
        }
        return plugins
    }

    /// Reads `users` and `groups`: the users that the authenticator may accept and the groups that it may assign. Every
    /// plug-in has these two settings beside its own.
    private static func readBounds(_ reader: ConfigurationReader, _ names: NameRules) -> AuthenticatorScope {
        // The user names, as patterns with `*`; default: all.
        let texts = reader.strings("users")
        let users = texts?.compactMap { text -> NamePattern? in
            guard let pattern = NamePattern(text, names: names) else {
                reader.report("users", "\"\(text)\" is not a name pattern; use a-z 0-9 _ @ . - and *")
                return nil
            }
            if !text.contains("*"), let user = names.user(PresentedName(text)) {
                if let meaning = names.meaning(of: text, user) { reader.report("users", meaning, severity: .note) }
            }
            return pattern
        }
        // The groups that the authenticator may assign; default: all.
        let groups = reader.strings("groups")?.compactMap { text in
            let group = GroupName(text)
            if group == nil { reader.report("groups", "\"\(text)\" is not a group name") }
            return group
        }
        if texts?.isEmpty == true {
            reader.report("users", "is empty; this authenticator accepts nobody", severity: .warning)
        }
        return AuthenticatorScope(users: users, groups: groups.map(Set.init))
    }

    /// Reads `authentication`: the time limits of authentication.
    static func readAuthentication(_ reader: ConfigurationReader?) -> AuthenticationRules {
        defer { reader?.finish() }
        var rules = AuthenticationRules()
        // The time limit for all authenticators of one call, including queueing; default: 10s.
        if let deadline = reader?.duration("deadline", in: .seconds(1) ... .seconds(60)) { rules.deadline = deadline }
        // The most sessions of a user; default: 20.
        if let limit = reader?.integer("sessions-per-user", in: 1...1000) { rules.sessionsPerUser = limit }
        // The time after a login at which a session ends if the account's status cannot be queried; default: 24h.
        let days = Duration.seconds(86_400)
        if let time = reader?.duration("session-without-status", in: .seconds(60)...days * 365) {
            rules.sessionLifetimeWithoutStatus = time
        }
        // The time after its last registration at which a device of such an account is deleted; default: 30d.
        if let time = reader?.duration("device-without-status", in: .seconds(3600)...days * 3650) {
            rules.deviceLifetimeWithoutStatus = time
        }
        return rules
    }
}

extension ServerConfiguration {
    /// Returns a warning for each authenticator that has registrations and is not configured.
    ///
    /// - Parameter counts: The number of live registrations that accounts of each authenticator made.
    package func unconfiguredRegistrations(_ counts: [PluginName: Int], file: String) -> [ConfigurationProblem] {
        let configured = Set(authenticators.map(\.name))
        return counts.filter { !configured.contains($0.key) }.sorted { $0.key.text < $1.key.text }.map { name, count in
            ConfigurationProblem(
                at: SourceLocation(file: file), path: "authenticators",
                "\(count) device\(count == 1 ? " was" : "s were") registered by users of \(name), which is not "
                    + "configured; each is deleted when its last registration is older than "
                    + "authentication.device-without-status "
                    + "(\(authentication.deviceLifetimeWithoutStatus.configured))",
                severity: .warning)
        }
    }
}

extension ConfiguredPlugin {
    /// Whether both are of a plug-in whose accounts are distinct, may accept the same user name, and the configuration
    /// does not name the users of each.
    fileprivate func sharesUsersUnintentionally(with other: ConfiguredPlugin) -> Bool {
        requiresDistinctUsers && name == other.name && (scope.users == nil || other.scope.users == nil)
            && scope.overlaps(other.scope)
    }
}
