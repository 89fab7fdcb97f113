import Foundation
import GatewayTesting

/// The account that a service runs as in tests which begin as root: `nobody`, who owns nothing else.
enum ServiceAccount {
    static let user: UInt32 = 65534
    private static let setpriv = "/usr/bin/setpriv"

    /// What puts a command into the account.
    static let prefix = [setpriv, "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]

    /// Whether this process may change to the account, and the account may run the program.
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
    /// Gives the directory and everything in it to the account.
    func give(to user: UInt32) throws {
        chown(path, user, user)
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            lchown("\(path)/\(name)", user, user)
        }
    }

    /// What lies below the directory: each path with owner, size and time of change, so that two looks tell whether anything was
    /// written.
    func inventory(of name: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: "\(path)/\(name)").sorted().map { inner in
            var status = stat()
            lstat("\(path)/\(name)/\(inner)", &status)
            return "\(inner) \(status.st_uid) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
    }

    /// Everything below the directory that does not belong to the account.
    func strangers(to user: UInt32) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).sorted().filter { inner in
            var status = stat()
            lstat("\(path)/\(inner)", &status)
            return status.st_uid != user
        }
    }
}
