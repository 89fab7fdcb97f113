internal import Foundation

/// The tools of the machine that runs the tests.
public enum SystemTools {
    /// The path of this package's program, next to the test bundle.
    public static let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "notify-gateway").path()

    /// The path of a C compiler, or nil.
    public static let compiler = first(of: ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"])
    /// The path of useradd(8), or nil.
    public static let userAdd = first(of: ["/usr/sbin/useradd"])
    /// The path of setpriv(1), or nil.
    public static let setPrivileges = first(of: ["/usr/bin/setpriv"])
    /// Whether the tests run as root.
    public static let isRoot = geteuid() == 0

    /// A missing tool, or a failed command.
    public struct Failure: Error, CustomStringConvertible {
        /// The description of the failure.
        public let description: String

        /// Creates a failure.
        public init(description: String) { self.description = description }
    }

    /// Runs a program and waits for its exit. Blocks.
    ///
    /// - Throws: unless the program exits with status 0.
    public static func run(_ program: String, _ arguments: [String], input: String = "") throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(program) \(arguments) exited with status \(process.terminationStatus)")
        }
    }

    private static func first(of programs: [String]) -> String? {
        programs.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
