internal import Foundation

/// A process as /proc (proc(5)) shows it at the moment: for tests that nothing is left behind.
public struct ObservedProcess: Sendable, Hashable {
    /// Its number.
    public let pid: Int32

    /// The process of this number, whether or not there is one.
    public init(pid: Int32) { self.pid = pid }

    /// The one that runs the tests.
    public static let own = ObservedProcess(pid: getpid())

    /// All that there are, zombies included.
    public static var all: [ObservedProcess] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap { Int32($0) }.map(ObservedProcess.init)
    }

    /// Its arguments with a NUL after each; empty for a zombie, and where there is no such process.
    public var commandLine: String {
        (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
    }

    /// How many descriptors it has open, or nil where there is no such process.
    public var descriptors: Int? { try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count }

    /// The children that it has not reaped.
    public var children: [Int32] { Self.statuses.filter { $0.parent == pid }.map(\.pid) }

    /// Those of its children that have ended.
    public var zombies: [Int32] { Self.statuses.filter { $0.parent == pid && $0.state == "Z" }.map(\.pid) }

    /// Its workers, zombies included: the children of this program that lead a session of their own.
    public var workers: [Int32] {
        Self.statuses.filter { $0.parent == pid && $0.session == $0.pid && $0.name == "notify-gateway" }.map(\.pid)
    }

    private struct Status {
        let pid: Int32
        let name: Substring
        let state: Substring
        let parent: Int32?
        let session: Int32?

        init?(_ pid: Int32) {
            guard let line = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                // A name may hold parentheses itself, and nothing behind it does.
                let start = line.firstIndex(of: "("), let end = line.lastIndex(of: ")")
            else { return nil }
            let fields = line[end...].dropFirst().split(separator: " ")
            guard fields.count > 3 else { return nil }
            self.pid = pid
            name = line[line.index(after: start)..<end]
            state = fields[0]
            parent = Int32(fields[1])
            session = Int32(fields[3])
        }
    }

    private static var statuses: [Status] { all.compactMap { Status($0.pid) } }
}
