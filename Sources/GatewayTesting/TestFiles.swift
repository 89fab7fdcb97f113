public import Foundation

/// A temporary directory of one test, removed with the last reference to it.
public final class TestFiles: Sendable {
    /// The path of the directory.
    public let path: String

    /// Creates an empty directory with mode 0700.
    public init() throws {
        path = NSTemporaryDirectory() + "notify-gateway-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        try write(Data(text.utf8), to: name, mode: mode)
    }

    /// Writes a file and returns its path.
    @discardableResult
    public func write(_ data: Data, to name: String, mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        try data.write(to: URL(fileURLWithPath: file))
        try setMode(mode, of: name)
        return file
    }

    /// Sets the permission bits of a file.
    public func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/\(name)")
    }

    /// Returns the permission bits of a file.
    public func mode(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions] as? Int
    }

    /// Returns the content of a file as text.
    public func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")), as: UTF8.self)
    }

    /// Returns the names in the directory, sorted.
    public func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}
