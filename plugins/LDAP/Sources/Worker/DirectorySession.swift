internal import CLDAP
internal import GatewayCore
internal import GatewaySupport

/// The two connections of a worker, kept between requests: one of the gateway's own account for searches, one for binds
/// with users' passwords.
///
/// Searches never run on the second connection, so no search has the rights of a user.
final class DirectorySession {
    /// The maximum number of groups of a user.
    static let maximumGroups = 1000
    /// The maximum number of values of the group attribute, groups elsewhere in the directory included.
    static let maximumGroupValues = 10_000

    private var server: DirectoryServer?
    private var searching: DirectoryConnection?
    private var binding: DirectoryConnection?

    /// Returns the findings of a request. After a fault, both connections are closed.
    func respond(to request: DirectoryRequest) -> DirectoryResponse {
        if let server, !server.isSame(as: request.server) { close() }
        server = request.server
        do throws(DirectoryFault) {
            return .findings(try findings(for: request))
        } catch {
            close()
            return .fault(error)
        }
    }

    private func close() {
        searching = nil
        binding = nil
    }

    private func findings(for request: DirectoryRequest) throws(DirectoryFault) -> DirectoryFindings {
        let connection = try searchConnection(to: request.server)
        var (findings, name, groups) = try Self.account(of: request, on: connection)
        if request.operation == .login, findings.entries < 2 {
            // For an unknown user a bind is tried too, so that the time does not tell which names exist.
            findings.bind = try bind(name ?? Self.absentName(below: request.search.base), request)
        }
        let isRefused = findings.bind.map { $0.meaning != .accepted } ?? false
        if let name, findings.entries == 1, !isRefused {
            findings.isUsable = try Self.matchesAccountFilter(name, request.search, on: connection)
            findings.groups = try Self.groups(of: name, memberOf: groups, request, on: connection)
        }
        // Kept only without a fault.
        searching = consume connection
        return findings
    }

    /// Returns the connection for searches. Opens one if there is none, or if the server closed it.
    private func searchConnection(to server: DirectoryServer) throws(DirectoryFault) -> DirectoryConnection {
        if let kept = searching.take(), kept.isQuiet { return kept }
        let connection = try DirectoryConnection(to: server)
        let result = connection.bind(server.bindDN, server.bindPassword)
        guard result.code == LDAP_SUCCESS else { throw DirectoryFault(step: .serviceBind, code: result.code) }
        return connection
    }

    private func bind(_ name: String, _ request: DirectoryRequest) throws(DirectoryFault) -> BindResult {
        let connection: DirectoryConnection
        if let kept = binding.take(), kept.isQuiet {
            connection = kept
        } else {
            connection = try DirectoryConnection(to: request.server)
        }
        let result = connection.bind(name, request.password)
        // A connection without a result is not used again, because the server may still send it.
        if result.code >= 0 { binding = consume connection }
        return result
    }

    /// Searches for the user's entry. Returns its DN, and the DNs of its groups if the entry has them.
    private static func account(
        of request: DirectoryRequest, on connection: borrowing DirectoryConnection
    ) throws(DirectoryFault) -> (DirectoryFindings, name: String?, groups: [String]) {
        let search = request.search
        var attributes = [search.userAttribute] + AccountAttributes.Name.allCases.map(\.rawValue)
        if !search.groupAttribute.isEmpty { attributes.append(search.groupAttribute) }
        let result = connection.search(
            search.base, scope: Int32(search.scope.number), filter: request.filter, attributes: attributes, limit: 2
        ) { code, entries -> Result<(DirectoryFindings, String?, [String]), DirectoryFault> in
            // More entries than the limit are more than one.
            guard code == LDAP_SUCCESS || code == LDAP_SIZELIMIT_EXCEEDED && entries.count > 1 else {
                return .failure(DirectoryFault(step: .search, code: code))
            }
            var findings = DirectoryFindings(entries: min(entries.count, 2))
            guard findings.entries == 1, let name = entries.names().first else { return .success((findings, nil, [])) }
            let length = DirectoryFindings.maximumValueLength
            findings.names = Array(
                (entries.values(of: search.userAttribute, limit: 1000, length: length) ?? [])
                    .prefix(DirectoryFindings.maximumNames))
            for attribute in AccountAttributes.Name.allCases {
                findings.attributes.values[attribute] =
                    entries.values(of: attribute.rawValue, limit: 1, length: length)?.first
            }
            guard !search.groupAttribute.isEmpty else { return .success((findings, name, [])) }
            let groups = entries.values(
                of: search.groupAttribute, limit: maximumGroupValues, length: DistinguishedName.maximumLength)
            guard let groups else { return .failure(DirectoryFault(step: .tooManyGroups)) }
            return .success((findings, name, groups))
        }
        return try result.get()
    }

    /// Evaluates the account filter at the user's entry.
    private static func matchesAccountFilter(
        _ name: String, _ search: AccountSearch, on connection: borrowing DirectoryConnection
    ) throws(DirectoryFault) -> Bool {
        guard !search.accountFilter.isEmpty else { return true }
        let result = connection.search(
            name, scope: LDAP_SCOPE_BASE, filter: search.accountFilter, attributes: [LDAP_NO_ATTRS], limit: 1
        ) { code, entries -> Result<Bool, DirectoryFault> in
            code == LDAP_SUCCESS
                ? .success(entries.count == 1) : .failure(DirectoryFault(step: .accountFilter, code: code))
        }
        return try result.get()
    }

    /// Returns the names of the user's groups below the group base.
    private static func groups(
        of name: String, memberOf: [String], _ request: DirectoryRequest, on connection: borrowing DirectoryConnection
    ) throws(DirectoryFault) -> Set<GroupName> {
        let search = request.search
        guard !search.groupBase.isEmpty, let base = DistinguishedName(search.groupBase) else { return [] }
        var names = memberOf
        if !search.groupFilter.isEmpty {
            let filter = SearchFilter(checked: search.groupFilter).filled(["dn": name, "user": request.user])
            let result = connection.search(
                search.groupBase, scope: LDAP_SCOPE_SUBTREE, filter: filter, attributes: [LDAP_NO_ATTRS],
                limit: maximumGroups + 1
            ) { code, entries -> Result<[String], DirectoryFault> in
                if code == LDAP_SIZELIMIT_EXCEEDED { return .failure(DirectoryFault(step: .tooManyGroups)) }
                return code == LDAP_SUCCESS
                    ? .success(entries.names()) : .failure(DirectoryFault(step: .groups, code: code))
            }
            names = try result.get()
        }
        var groups: Set<GroupName> = []
        for text in names {
            guard let parsed = DistinguishedName(text), parsed.isBelow(base),
                let group = parsed.name(of: search.groupName).flatMap(GroupName.init)
            else { continue }
            groups.insert(group)
        }
        guard groups.count <= maximumGroups else { throw DirectoryFault(step: .tooManyGroups) }
        return groups
    }

    /// Returns a name that no entry has, for binds of unknown users.
    private static func absentName(below base: String) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return base.isEmpty ? "cn=absent-\(number)" : "cn=absent-\(number),\(base)"
    }
}
