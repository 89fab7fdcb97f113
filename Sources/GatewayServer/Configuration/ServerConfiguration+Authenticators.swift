internal import Gateway
internal import GatewayCore

extension ServerConfiguration {
    /// The list of authenticators: each a mapping of one plug-in's name to its settings.
    static func readAuthenticators(_ root: ConfigurationReader, _ catalog: PluginCatalog) -> [ConfiguredPlugin] {
        let allowed = catalog.names.joined(separator: ", ")
        guard let values = root.sequence("authenticators"), !values.isEmpty else {
            root.report("authenticators", "must name at least one of: \(allowed)")
            return []
        }
        var located: [(plugin: ConfiguredPlugin, path: String)] = []
        for value in values {
            let wrapper = root.reader(of: value.node, under: value.path)
            let entries = wrapper.allEntries()
            guard let entry = entries.first, entries.count == 1 else {
                wrapper.report("must be one plug-in's name and its settings; the names are: \(allowed)")
                continue
            }
            guard catalog.has(entry.name) else {
                wrapper.report(
                    at: entry.location, under: entry.name, "is no authenticator; there are: \(allowed)")
                continue
            }
            let reader = wrapper.reader(of: entry.value, under: entry.name)
            defer { reader.finish() }
            guard let plugin = catalog.configured(entry.name, reader, within: readBounds(reader)) else { continue }
            for earlier in located where earlier.plugin.mayVouchForTheSame(as: plugin) {
                let order = earlier.plugin.takes.isDisjoint(with: plugin.takes) ? "" : ", which is asked first"
                reader.report(
                    "may vouch for the same names as \(earlier.path)\(order): whoever has a name there and here is one user; "
                        + "give both \"users\" that no name fits twice",
                    severity: .warning)
            }
            if plugin.accountKnowledge == .loginsOnly {
                reader.report(
                    "tells only at a login whether an account is still good: what an account that has ended was granted "
                        + "lasts until its sessions (authentication.session-without-status) and its devices "
                        + "(authentication.device-without-status) are too old",
                    severity: .warning)
            }
            located.append((plugin, reader.path))
        }
        return located.map(\.plugin)
    }

    /// For whom an authenticator may vouch, whatever it says itself: stands among the settings of any of them.
    private static func readBounds(_ reader: ConfigurationReader) -> AuthenticatorScope {
        // The names, as patterns with `*`; all unless given.
        let texts = reader.strings("users")
        let users = texts?.compactMap { text in
            let pattern = NamePattern(text)
            if pattern == nil {
                reader.report("users", "\"\(text)\" is no pattern of names; write a-z 0-9 _ @ . - and *")
            }
            return pattern
        }
        // The groups that it may say somebody belongs to; all unless given.
        let groups = reader.strings("groups")?.compactMap { text in
            let group = GroupName(text)
            if group == nil { reader.report("groups", "\"\(text)\" is no name of a group") }
            return group
        }
        if texts?.isEmpty == true {
            reader.report("users", "is empty: it may vouch for nobody", severity: .warning)
        }
        return AuthenticatorScope(users: users, groups: groups.map(Set.init))
    }

    static func readAuthentication(_ reader: ConfigurationReader?) -> AuthenticationRules {
        defer { reader?.finish() }
        var rules = AuthenticationRules()
        // How long all authenticators together may take for one call, waiting included; 10s unless given.
        if let deadline = reader?.duration("deadline", in: .seconds(1) ... .seconds(60)) { rules.deadline = deadline }
        // How long after its login a session ends where nobody can be asked about the account; 24h unless given.
        let days = Duration.seconds(86_400)
        if let time = reader?.duration("session-without-status", in: .seconds(60)...days * 365) {
            rules.sessionWithoutStatus = time
        }
        // How long after its last registration a device is deleted, for the same accounts; 30d unless given.
        if let time = reader?.duration("device-without-status", in: .seconds(3600)...days * 3650) {
            rules.deviceWithoutStatus = time
        }
        return rules
    }
}

extension ConfiguredPlugin {
    fileprivate func mayVouchForTheSame(as other: ConfiguredPlugin) -> Bool {
        // Tokens that are issued here have the names of those whom they were issued to, and are meant to.
        accountKnowledge != .ofOthers && other.accountKnowledge != .ofOthers && bounds.overlap(other.bounds)
    }
}
