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
        var closed = all.closed.filter { scope.contain($0) }
        var marks: [UserName: AccountFingerprint] = [:]
        for (user, mark) in all.marks where scope.contain(user) {
            if scope.contain(Identity(user: user, groups: all.groups[user] ?? [], authenticator: name)) {
                marks[user] = mark
            } else {
                closed.insert(user)
            }
        }
        return AccountSnapshot(
            marks: marks, groups: all.groups.filter { marks[$0.key] != nil }, closed: closed,
            holdsUntil: all.holdsUntil)
    }
}

extension AccountSnapshot {
    /// Returns the accounts of several lists, in the order of the configuration. The first list that contains a name
    /// decides about it, even if the account is closed there, because its authenticator decides about the login.
    package static func merging(_ snapshots: [AccountSnapshot]) -> AccountSnapshot {
        var decided: Set<UserName> = []
        var marks: [UserName: AccountFingerprint] = [:]
        var groups: [UserName: Set<GroupName>] = [:]
        for snapshot in snapshots {
            for (user, mark) in snapshot.marks where !decided.contains(user) {
                marks[user] = mark
                groups[user] = snapshot.groups[user]
            }
            decided.formUnion(snapshot.marks.keys)
            decided.formUnion(snapshot.closed)
        }
        return AccountSnapshot(
            marks: marks, groups: groups, closed: decided.subtracting(marks.keys),
            holdsUntil: snapshots.compactMap(\.holdsUntil).min())
    }
}
