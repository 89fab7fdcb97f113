import Foundation

/// A directory of a test's own, removed with the last reference to it.
final class TestFiles: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "hmac-token-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and answers its path.
    func write(_ text: String, to name: String = "token-keys.yaml", mode: Int = 0o600) throws -> String {
        try write(Data(text.utf8), to: name, mode: mode)
    }

    func write(_ data: Data, to name: String, mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        try data.write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    func mode(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions] as? Int
    }

    func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")), as: UTF8.self)
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}

/// Where the test data of others lie, or nil in a clone that has none.
enum Corpora {
    static let directory: URL? = {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_CORPORA"].map { URL(fileURLWithPath: $0) }
        let directory = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpora")
        return FileManager.default.fileExists(atPath: directory.path) ? directory : nil
    }()

    static func file(_ name: String) -> URL? {
        directory.map { $0.appendingPathComponent(name) }
            .flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil }
    }
}
