internal import Foundation
internal import Glibc

/// A private stack of PAM modules in a directory of its own, removed with the last reference to it. The system's
/// configuration is not changed.
public final class PAMStack: Sendable {
    /// The name of the stack's PAM service.
    public static let service = "notify-gateway-test"

    private let files: TestFiles

    /// The path of the service directory.
    public var path: String { files.path }

    /// Creates a stack with these lines.
    public init(_ lines: String = "") throws {
        files = try TestFiles()
        try write(lines)
    }

    /// Writes a file in the directory, by default the stack, and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String = service) throws -> String {
        try files.write(text + "\n", to: name, mode: 0o644)
    }

    /// Returns the content of a file in the directory.
    public func text(of name: String) throws -> String { try files.text(of: name) }

    /// Makes pam_matrix verify these names, each with the password `right`.
    ///
    /// - Parameter lines: the lines before it in the stack.
    public func useMatrix(_ names: [String], before lines: String = "") throws {
        guard let matrix = PAMModules.matrix else { throw SystemTools.Failure(description: "no pam_matrix") }
        let passwords = names.map { "\($0):right:\(Self.service)" }.joined(separator: "\n")
        let file = try write(passwords, to: "passwords")
        try write("\(lines)\nauth required \(matrix) passdb=\(file)\naccount required \(matrix) passdb=\(file)")
    }

    /// Makes pam_matrix verify these names, each with the password `right`.
    public func useMatrix(_ names: String..., before lines: String = "") throws {
        try useMatrix(names, before: lines)
    }

    /// Compiles `MisbehavingModule` into the directory, unless it is there already, and returns its path.
    public func misbehavingModule() throws -> String {
        let module = "\(path)/pam_test.so"
        if try !files.names().contains("pam_test.so") {
            guard let compiler = SystemTools.compiler else { throw SystemTools.Failure(description: "no C compiler") }
            let arguments = ["-shared", "-fPIC", "-w", "-o", module, "-x", "c", "-"]
            try SystemTools.run(compiler, arguments, input: MisbehavingModule.source)
        }
        return module
    }

    /// Makes `MisbehavingModule` run these actions in `auth` and in `account`.
    public func useModule(auth: String, account: String = "succeed") throws {
        let module = try misbehavingModule()
        try write("auth required \(module) \(auth)\naccount required \(module) \(account)")
    }
}

extension PAMStack {
    /// Returns the number of processes with the stack's path in their command line. Repeats the count until it is 0,
    /// for at most `maximumWait`, because processes may take a moment to exit.
    public func remainingProcesses(maximumWait: Duration = .seconds(10)) -> Int {
        let end = ContinuousClock.now + maximumWait
        while true {
            let count = ObservedProcess.all.count { $0.commandLine.contains(path) }
            if count == 0 || ContinuousClock.now > end { return count }
            usleep(5000)
        }
    }
}

/// The paths of Linux-PAM modules on this machine; nil for a missing one.
public enum PAMModules {
    /// `pam_matrix.so` of Debian's libpam-wrapper: verifies against a file of names and passwords.
    public static let matrix = module("pam_matrix.so", under: "pam_wrapper")
    /// `pam_debug.so`: returns the configured codes.
    public static let debug = module("pam_debug.so", under: "security")
    /// `pam_faillock.so`: locks an account temporarily after wrong passwords.
    public static let failLock = module("pam_faillock.so", under: "security")
    /// `pam_faildelay.so`: requests a delay after a failure.
    public static let failDelay = module("pam_faildelay.so", under: "security")

    private static func module(_ name: String, under directory: String) -> String? {
        let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"]
        return libraries.map { "\($0)/\(directory)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
    }
}
