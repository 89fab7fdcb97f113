package import Gateway
package import GatewayCore
package import GatewaySupport

/// The account list of a configured authenticator, restricted to the users and groups that the authenticator may
/// accept.
package struct ScopedAccountList {
    package let name: PluginName
    var scope = AuthenticatorScope()
    let list: any AccountList

    /// Creates a list with the scope of its authenticator.
    package init(name: PluginName, scope: AuthenticatorScope = AuthenticatorScope(), list: any AccountList) {
        self.name = name
        self.scope = scope
        self.list = list
    }

    /// Returns the list's accounts whose names are within the scope. A listed account with a group outside the scope
    /// is closed: its login is rejected, and no later authenticator receives it.
    package func accounts(at now: WallTime) -> AccountSnapshot {
        let all = list.accounts(at: now)
        guard scope != AuthenticatorScope() else { return all }
        var closed = all.closed.filter { scope.contains($0) }
        var fingerprints: [UserName: AccountFingerprint] = [:]
        for (user, mark) in all.fingerprints where scope.contains(user) {
            if scope.contains(Identity(user: user, groups: all.groups[user] ?? [], authenticator: name)) {
                fingerprints[user] = mark
            } else {
                closed.insert(user)
            }
        }
        return AccountSnapshot(
            fingerprints: fingerprints, groups: all.groups.filter { fingerprints[$0.key] != nil }, closed: closed,
            validUntil: all.validUntil, isDeclaredEmpty: all.isDeclaredEmpty)
    }
}

extension AccountSnapshot {
    /// Returns the accounts of several lists, in the order of the configuration. The first list that contains a name
    /// decides about it, even if the account is closed there, because its authenticator decides about the login.
    package static func merging(_ snapshots: [AccountSnapshot]) -> AccountSnapshot {
        var decided: Set<UserName> = []
        var fingerprints: [UserName: AccountFingerprint] = [:]
        var groups: [UserName: Set<GroupName>] = [:]
        for snapshot in snapshots {
            for (user, mark) in snapshot.fingerprints where !decided.contains(user) {
                fingerprints[user] = mark
                groups[user] = snapshot.groups[user]
            }
            decided.formUnion(snapshot.fingerprints.keys)
            decided.formUnion(snapshot.closed)
        }
        return AccountSnapshot(
            fingerprints: fingerprints, groups: groups, closed: decided.subtracting(fingerprints.keys),
            validUntil: snapshots.compactMap(\.validUntil).min(),
            isDeclaredEmpty: !snapshots.isEmpty && snapshots.allSatisfy(\.isDeclaredEmpty))
    }
}
