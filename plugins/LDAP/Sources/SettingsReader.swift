internal import GatewaySupport

/// The reader of the settings of `ldap`. Each function documents the keys that it reads.
struct SettingsReader {
    /// The authorities that apply without `ca`: those of the system.
    static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    private let reader: ConfigurationReader

    init(_ reader: ConfigurationReader) { self.reader = reader }

    /// Reads every key. Returns nil if a problem leaves no usable settings.
    func settings() -> LDAPPlugin.Settings? {
        // `timeout`, `workers`, `queue`: see `LDAPPlugin.Settings`.
        let timeout = reader.duration("timeout", in: .milliseconds(100)...(.seconds(60))) ?? .seconds(5)
        let workers = reader.integer("workers", in: 1...64)
        let queue = reader.integer("queue", in: 4...4096)
        let server = server(timeout)
        let search = search()
        // `filter`: the search filter for the user's entry, with `{user}` in place of the name. Default
        // `(uid={user})`, with the user attribute in place of `uid`.
        let filter = filter("filter", placeholders: ["user"])
        guard let server, let search else { return nil }
        var settings = LDAPPlugin.Settings(
            server: server, search: search,
            filter: filter ?? SearchFilter(checked: "(\(search.userAttribute)={user})"), timeout: timeout)
        if let workers { settings.workers = workers }
        if let queue { settings.queue = queue }
        settings.authoritiesLocation = reader.node("ca")?.location ?? reader.location
        settings.authoritiesPath = reader.inner("ca")
        return settings
    }

    /// - `url`: the server: `ldaps://`, `ldap://` or `ldapi://`. Required.
    /// - `start-tls`: whether a connection to `ldap://` is encrypted before anything else. Required beyond this
    ///   machine. Default: false.
    /// - `ca`: a PEM file with the authorities that may sign the server's certificate. Default: those of the system.
    /// - `bind-dn`, `bind-password`: the gateway's own account. Default: anonymous searches. `bind-password` is secret.
    private func server(_ timeout: Duration) -> DirectoryServer? {
        let startTLS = reader.bool("start-tls") ?? false
        let authorities = reader.path("ca")
        let account = account()
        let text = reader.required("url")
        guard let text else { return nil }
        guard let url = DirectoryURL(text) else {
            reader.report("url", "must be ldaps://HOST, ldap://HOST or ldapi://PATH, with a port at most")
            return nil
        }
        if startTLS, url.isTLS || url.text.hasPrefix("ldapi:") {
            reader.report("start-tls", "is for ldap:// only")
        }
        if !startTLS, !url.isTLS, !url.isLocal {
            reader.report(
                "url", "sends passwords to another machine in plain text; use ldaps://, or set start-tls: true")
        }
        let usesTLS = startTLS || url.isTLS
        if authorities != nil, !usesTLS { reader.report("ca", "has no effect without TLS") }
        let milliseconds = timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000
        return DirectoryServer(
            url: url.text, usesStartTLS: startTLS, authorities: usesTLS ? authorities ?? Self.systemAuthorities : "",
            bindDN: account?.name ?? "", bindPassword: account?.password ?? Secret([]),
            timeout: UInt32(clamping: milliseconds))
    }

    private func account() -> (name: String, password: Secret)? {
        let name = name("bind-dn")
        let password = reader.string("bind-password")
        switch (name, password) {
        case (nil, nil): return nil
        case (let name?, let password?):
            guard (1...1024).contains(password.utf8.count) else {
                // An empty password would make the bind anonymous.
                reader.report("bind-password", "must have 1 to 1024 bytes")
                return nil
            }
            return (name, Secret(password.utf8))
        case (nil, _?): reader.report("bind-password", "needs bind-dn")
        case (_?, nil): reader.report("bind-dn", "needs bind-password")
        }
        return nil
    }

    /// - `base`: the DN below which users are searched. Required.
    /// - `scope`: `subtree` or `one-level`. Default: `subtree`.
    /// - `user-attribute`: the attribute of the user's entry with the name of the user. Default: `uid`.
    /// - `account-filter`: a search filter that the entry of a usable account matches.
    /// - `group-base`: the DN below which groups count. Without it no group is read.
    /// - `group-attribute`: the attribute of the user's entry with the DNs of groups, such as `memberOf`.
    /// - `group-filter`: the search filter for groups, with `{dn}` or `{user}`, in place of `group-attribute`. Default:
    ///   `(member={dn})`.
    /// - `group-name`: the type of a group's relative name, whose value is the name of the group. Default: `cn`.
    private func search() -> AccountSearch? {
        let base = name("base", isRequired: true)
        let scope = reader.word("scope", of: AccountSearch.Scope.self) ?? .subtree
        let userAttribute = attribute("user-attribute") ?? "uid"
        let accountFilter = filter("account-filter", placeholders: [])
        let groupBase = name("group-base")
        let groupAttribute = attribute("group-attribute")
        let groupFilter = filter("group-filter", placeholders: ["dn", "user"])
        let groupName = attribute("group-name")
        if !reader.has("group-base") {
            for key in ["group-attribute", "group-filter", "group-name"] where reader.has(key) {
                reader.report(key, "needs group-base")
            }
        } else if groupAttribute != nil, groupFilter != nil {
            reader.report("group-filter", "cannot be combined with group-attribute")
        }
        guard let base else { return nil }
        let searchesGroups = groupBase != nil && groupAttribute == nil
        return AccountSearch(
            base: base, scope: scope, userAttribute: userAttribute, accountFilter: accountFilter?.text ?? "",
            groupBase: groupBase ?? "", groupAttribute: groupAttribute ?? "",
            groupFilter: searchesGroups ? groupFilter?.text ?? "(member={dn})" : "", groupName: groupName ?? "cn")
    }

    private func name(_ key: String, isRequired: Bool = false) -> String? {
        guard let text = isRequired ? reader.required(key) : reader.string(key) else { return nil }
        guard text.utf8.count <= 1024, let name = DistinguishedName(text), !name.components.isEmpty else {
            reader.report(key, "is not a distinguished name, such as ou=people,dc=example,dc=com")
            return nil
        }
        return text
    }

    private func filter(_ key: String, placeholders: [String]) -> SearchFilter? {
        guard let text = reader.string(key) else { return nil }
        guard text.utf8.count <= 512 else {
            reader.report(key, "has more than 512 bytes")
            return nil
        }
        do throws(SearchFilter.Fault) {
            return try SearchFilter(text, placeholders: placeholders)
        } catch {
            reader.report(key, error.description)
            return nil
        }
    }

    private func attribute(_ key: String) -> String? {
        guard let text = reader.string(key) else { return nil }
        let isName =
            (1...64).contains(text.utf8.count) && text.first.map { $0.isASCII && $0.isLetter } == true
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
        if !isName { reader.report(key, "is not an attribute, such as uid") }
        return isName ? text : nil
    }
}
