import Foundation

/// A directory of a test's own, with a short name as socket addresses need, removed with the last reference to it.
final class TestDirectory: Sendable {
    let path: String

    init() throws {
        path = "/tmp/ngx-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var socket: String { path + "/socket" }

    /// Writes a file and answers its path.
    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/\(name)")
    }
}

/// The strings that break naive programs, where they are present.
enum NaughtyStrings {
    static let all: [String] = {
        let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_CORPORA"].map { URL(fileURLWithPath: $0) }
        let directory = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpora")
        guard let data = try? Data(contentsOf: directory.appendingPathComponent("blns.json")),
            let strings = try? JSONDecoder().decode([String].self, from: data)
        else { return [] }
        return strings
    }()
}
