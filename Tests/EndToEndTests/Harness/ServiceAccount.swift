import Foundation
import GatewayTesting
import Testing

/// The account `nobody`, which runs the service in tests that start as root.
enum ServiceAccount {
    static let user: UInt32 = 65534
    private static let setpriv = "/usr/bin/setpriv"

    /// The command prefix that switches to the account.
    static let prefix = [setpriv, "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]

    /// Whether this process may switch to the account and the account may run the program.
    static let isUsable: Bool = {
        guard geteuid() == 0, access(setpriv, X_OK) == 0 else { return false }
        let process = Process()
        process.executableURL = URL(filePath: setpriv)
        process.arguments = Array(prefix.dropFirst()) + [Program.path, "version"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

extension TestFiles {
    /// Changes the owner of the directory and its content to the account.
    func give(to user: UInt32) throws {
        chown(path, user, user)
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            lchown("\(path)/\(name)", user, user)
        }
    }

    /// Returns each path below the directory with its owner, size and modification time. Two inventories differ if a
    /// file was written in between.
    func inventory(of name: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: "\(path)/\(name)").sorted().map { inner in
            let file = try Self.attributes("\(path)/\(name)/\(inner)")
            return "\(inner) \(file.owner) \(file.size) \(file.modified)"
        }
    }

    /// Returns the paths below the directory that another account owns.
    func strangers(to user: UInt32) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).sorted().filter { inner in
            try Self.attributes("\(path)/\(inner)").owner != user
        }
    }

    /// Returns a file's owner, size in bytes and modification time in seconds since 1970. Does not follow a symbolic
    /// link. Reads them with Foundation: which C module declares `stat` depends on the build's order.
    private static func attributes(_ path: String) throws -> (owner: UInt32, size: UInt64, modified: Double) {
        let values = try FileManager.default.attributesOfItem(atPath: path)
        let owner = try #require(values[.ownerAccountID] as? NSNumber).uint32Value
        let size = try #require(values[.size] as? NSNumber).uint64Value
        let modified = try #require(values[.modificationDate] as? Date).timeIntervalSince1970
        return (owner, size, modified)
    }
}
