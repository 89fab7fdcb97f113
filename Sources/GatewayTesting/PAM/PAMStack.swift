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
