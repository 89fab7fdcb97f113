import Foundation

/// A temporary directory of one test's own.
struct TestDirectory: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "notify-gateway-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    func write(_ text: String, to name: String, mode: Int = 0o644) throws {
        guard
            FileManager.default.createFile(
                atPath: "\(path)/\(name)", contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        else { throw CocoaError(.fileWriteUnknown) }
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
