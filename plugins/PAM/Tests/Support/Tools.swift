import Foundation

/// What the machine has for tests.
enum Tools {
    /// The program that these tests were built with, which is a worker when asked to be one.
    static let program =
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "notify-gateway").path()

    /// pam_matrix.so, of Debian's libpam-wrapper.
    static let matrix = module("pam_matrix.so", under: "pam_wrapper")
    /// pam_debug.so, of Linux-PAM itself.
    static let debug = module("pam_debug.so", under: "security")
    /// pam_faildelay.so, of Linux-PAM itself.
    static let failDelay = module("pam_faildelay.so", under: "security")
    static let compiler = ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"].first(where: isExecutable)
    static let userAdd = ["/usr/sbin/useradd"].first(where: isExecutable)
    static let isRoot = geteuid() == 0

    /// Runs a program, and throws unless it succeeds.
    static func run(_ program: String, _ arguments: [String], input: String = "") throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Missing() }
    }

    private static func module(_ name: String, under directory: String) -> String? {
        let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"]
        return libraries.map { "\($0)/\(directory)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
    }

    private static func isExecutable(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }
}

/// Where the test data of others lie, or nil in a clone that has none.
enum Corpora {
    static func file(_ name: String) -> URL? {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_CORPORA"].map { URL(fileURLWithPath: $0) }
        let directory = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpora")
        let file = directory.appendingPathComponent(name)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }
}

/// Removes a file; whether it was there.
func unlinkFile(_ path: String) -> Bool { unlink(path) == 0 }
