internal import Foundation

/// What the machine that tests run on has, beside Swift.
public enum SystemTools {
    /// The program of this package, which lies beside the bundle of the tests that it was built with.
    public static let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "notify-gateway").path()

    /// A C compiler, or nil.
    public static let compiler = first(of: ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"])
    /// What adds accounts, or nil.
    public static let userAdd = first(of: ["/usr/sbin/useradd"])
    /// What runs a program with less rights, or nil.
    public static let setPrivileges = first(of: ["/usr/bin/setpriv"])
    /// Whether the tests may do whatever they like to the machine.
    public static let isRoot = geteuid() == 0

    /// A tool that is missing, or something that failed.
    public struct Failure: Error, CustomStringConvertible {
        /// What.
        public let description: String

        /// A failure in words.
        public init(description: String) { self.description = description }
    }

    /// Runs a program to its end. Blocks for as long as it takes.
    ///
    /// - Throws: unless it exits with 0.
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
            throw Failure(description: "\(program) \(arguments) ended with \(process.terminationStatus)")
        }
    }

    private static func first(of programs: [String]) -> String? {
        programs.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
