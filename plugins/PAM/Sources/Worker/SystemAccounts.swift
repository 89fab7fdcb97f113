internal import CPAM
internal import Foundation
internal import GatewayCore

/// The account database of the system (nsswitch.conf). Look-ups block for as long as its sources do.
enum SystemAccounts {
    /// What the database has of the user, with the groups whose names policy can speak of.
    ///
    /// - Parameter mustBeSure: whether a fault that may mean that there is no such user is taken for a fault.
    static func entry(of user: String, mustBeSure: Bool) -> WorkerFindings.Entry {
        var record = passwd()
        switch look({ getpwnam_r(user, &record, $0, $1, $2) }) {
        case .unreadable: return .unreadable
        case .absent: return .absent
        case .notFound: return mustBeSure ? .unreadable : .absent
        case .found(let (uid, gid)):
            guard let groups = groups(of: user, primary: gid) else { return .unreadable }
            return .found(.init(uid: uid, groups: groups))
        }
    }

    /// The account that a request is for where nobody may log in by it: then no module is asked, since modules that count wrong
    /// passwords would count them for root. Nil where the modules are to be asked.
    static func entryBelowMinimum(_ request: WorkerRequest) -> WorkerFindings.Entry? {
        for name in Set([request.user, request.account]) where !name.isEmpty {
            var record = passwd()
            switch look({ getpwnam_r(name, &record, $0, $1, $2) }) {
            case .found(let (uid, _)):
                if uid == 0 || uid < request.minimumUID { return .found(.init(uid: uid, groups: [])) }
            case .unreadable: return .unreadable
            case .absent, .notFound: continue
            }
        }
        return nil
    }

    /// The uid behind a name or a number.
    static func uid(of user: String) -> uid_t? {
        if let number = uid_t(user) { return number }
        var record = passwd()
        guard case .found(let found) = look({ getpwnam_r(user, &record, $0, $1, $2) }) else { return nil }
        return found.uid
    }

    private enum LookUp {
        case found((uid: uid_t, gid: gid_t))
        case absent
        /// A fault, but one that getpwnam_r(3) names for "not found" on some system. A directory that is away has it too.
        case notFound
        case unreadable
    }

    private typealias Result = UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>

    /// Calls with ever more room until the record fits.
    private static func look(_ call: (UnsafeMutablePointer<CChar>, Int, Result) -> CInt) -> LookUp {
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

    /// A group's name. One that cannot be looked up is left out: groups give rights, so fewer of them are safe.
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
