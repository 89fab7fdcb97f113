/// A private stack of PAM modules in a directory of its own, removed with the last reference to it. Nothing of the system's is
/// touched.
public final class PAMStack: Sendable {
    /// The service that the stack is of.
    public static let service = "notify-gateway-test"

    private let files: TestFiles

    /// The service directory.
    public var path: String { files.path }

    /// A stack of these lines.
    public init(_ lines: String = "") throws {
        files = try TestFiles()
        try write(lines)
    }

    /// Writes a file of the directory, the stack unless another is named, and answers its path.
    @discardableResult
    public func write(_ text: String, to name: String = service) throws -> String {
        try files.write(text + "\n", to: name, mode: 0o644)
    }

    /// What a file of the directory holds.
    public func text(of name: String) throws -> String { try files.text(of: name) }

    /// Has pam_matrix judge by a file of passwords: right is `right` for each of these names.
    ///
    /// - Parameter lines: what stands before it in the stack.
    public func useMatrix(_ names: [String], before lines: String = "") throws {
        guard let matrix = PAMModules.matrix else { throw SystemTools.Failure(description: "no pam_matrix") }
        let passwords = names.map { "\($0):right:\(Self.service)" }.joined(separator: "\n")
        let file = try write(passwords, to: "passwords")
        try write("\(lines)\nauth required \(matrix) passdb=\(file)\naccount required \(matrix) passdb=\(file)")
    }

    /// Has pam_matrix judge by a file of passwords.
    public func useMatrix(_ names: String..., before lines: String = "") throws {
        try useMatrix(names, before: lines)
    }

    /// Compiles `MisbehavingModule` into the directory, unless it is there already, and answers its path.
    public func misbehavingModule() throws -> String {
        let module = "\(path)/pam_test.so"
        if try !files.names().contains("pam_test.so") {
            guard let compiler = SystemTools.compiler else { throw SystemTools.Failure(description: "no C compiler") }
            let arguments = ["-shared", "-fPIC", "-w", "-o", module, "-x", "c", "-"]
            try SystemTools.run(compiler, arguments, input: MisbehavingModule.source)
        }
        return module
    }

    /// Has `MisbehavingModule` do what the words say, in `auth` and in `account`.
    public func useModule(auth: String, account: String = "succeed") throws {
        let module = try misbehavingModule()
        try write("auth required \(module) \(auth)\naccount required \(module) \(account)")
    }
}
