internal import CPAM
internal import Foundation
internal import GatewayCore

/// The account database of the system (nsswitch.conf). Look-ups block as long as its sources do.
enum SystemAccounts {
    /// Looks the user up, with the groups whose names are valid group names of the gateway.
    ///
    /// - Parameter ambiguousIsUnreadable: whether an ambiguous error, which may mean that there is no such user, is
    ///   `unreadable`
    ///   instead of `absent`.
    static func entry(of user: String, ambiguousIsUnreadable: Bool) -> WorkerResult.Entry {
        var record = passwd()
        switch lookUp({ getpwnam_r(user, &record, $0, $1, $2) }) {
        case .unreadable: return .unreadable
        case .absent: return .absent
        case .notFound: return ambiguousIsUnreadable ? .unreadable : .absent
        case .found(let (uid, gid)):
            guard let groups = groups(of: user, primary: gid) else { return .unreadable }
            return .found(.init(uid: uid, groups: groups))
        }
    }

    /// Returns the entry of the request's account if its uid is below the minimum or the database cannot be read,
    /// otherwise nil. The modules are not called for such an account: modules that count wrong passwords would count
    /// them for root.
    static func entryBelowMinimum(_ request: WorkerRequest) -> WorkerResult.Entry? {
        for name in Set([request.user, request.account]) where !name.isEmpty {
            var record = passwd()
            switch lookUp({ getpwnam_r(name, &record, $0, $1, $2) }) {
            case .found(let (uid, _)):
                if uid == 0 || uid < request.minimumUID { return .found(.init(uid: uid, groups: [])) }
            case .unreadable: return .unreadable
            case .absent, .notFound: continue
            }
        }
        return nil
    }

    /// Returns the uid for a user name or a number.
    static func uid(of user: String) -> uid_t? {
        if let number = uid_t(user) { return number }
        var record = passwd()
        guard case .found(let found) = lookUp({ getpwnam_r(user, &record, $0, $1, $2) }) else { return nil }
        return found.uid
    }

    private enum LookUp {
        case found((uid: uid_t, gid: gid_t))
        case absent
        /// An error that getpwnam_r(3) lists for "not found" on some systems. An unreachable directory may cause it
        /// too.
        case notFound
        case unreadable
    }

    private typealias Result = UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>

    /// Calls the function with a growing buffer until the record fits.
    private static func lookUp(_ call: (UnsafeMutablePointer<CChar>, Int, Result) -> CInt) -> LookUp {
        var room = 4096
        while room <= 1 << 20 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: room)
            defer { buffer.deallocate() }
            var result: UnsafeMutablePointer<passwd>?
            switch call(buffer, room, &result) {
            case 0: return result.map { .found(($0.pointee.pw_uid, $0.pointee.pw_gid)) } ?? .absent
            case ENOENT, ESRCH, EBADF, EPERM: return .notFound
            case ERANGE: room *= 4
            case EINTR: continue
            default: return .unreadable
            }
        }
        return .unreadable
    }

    private static func groups(of user: String, primary: gid_t) -> Set<GroupName>? {
        var room: CInt = 64
        while room <= 65_536 {
            var ids = [gid_t](repeating: 0, count: Int(room))
            var count = room
            if getgrouplist(user, primary, &ids, &count) >= 0 {
                return Set(ids.prefix(Int(max(0, count))).compactMap(name).compactMap(GroupName.init))
            }
            room = max(count, room * 2)
        }
        return nil
    }

    /// Returns a group's name, or nil if it cannot be looked up. A missing group is safe, because groups only grant
    /// rights.
    private static func name(of id: gid_t) -> String? {
        var room = 4096
        while room <= 1 << 22 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: room)
            defer { buffer.deallocate() }
            var record = group()
            var result: UnsafeMutablePointer<group>?
            switch getgrgid_r(id, &record, buffer, room, &result) {
            case 0: return result.flatMap { String(validatingCString: $0.pointee.gr_name) }
            case ERANGE: room *= 4
            case EINTR: continue
            default: return nil
            }
        }
        return nil
    }
}
