import CPAM
import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@testable import PAM

/// Random files of a service, read by `ServiceStack` and by libpam itself.
@Suite("Random stacks", .enabled(if: PAMModules.debug != nil, "pam_debug is not installed"))
struct RandomStackTests {
    /// A generator with a seed, so that a failure can be repeated.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func pick(_ words: [String], _ numbers: inout Numbers) -> String {
        words.randomElement(using: &numbers) ?? ""
    }

    private static func control(_ numbers: inout Numbers) -> String {
        guard Bool.random(using: &numbers) else {
            return pick(["required", "Requisite", "optional", "SUFFICIENT", "requierd", "[required]"], &numbers)
        }
        let pairs = (0..<Int.random(in: 0..<4, using: &numbers)).map { _ in
            let code = pick(["success", "auth_err", "ignore", "new_authtok_reqd", "default", "default"], &numbers)
            let action = pick(["ignore", "ok", "done", "bad", "die", "reset", "1", "2", "3", "x"], &numbers)
            return "\(code)=\(action)"
        }
        return "[\(pairs.joined(separator: " "))]"
    }

    private static func module(_ numbers: inout Numbers) -> String {
        func code(_ numbers: inout Numbers) -> String {
            pick(["success", "success", "success", "auth_err", "ignore", "new_authtok_reqd", "acct_expired"], &numbers)
        }
        return switch Int.random(in: 0..<12, using: &numbers) {
        case 0: "pam_permit.so"
        case 1: "pam_deny.so"
        case 2: "pam_absent.so"
        default: "pam_debug.so auth=\(code(&numbers)) acct=\(code(&numbers))"
        }
    }

    /// Returns the text of a file that includes files of these names.
    private static func file(including names: [String], in directory: String, _ numbers: inout Numbers) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<7, using: &numbers) {
            let facility = pick(
                ["auth", "auth", "account", "Account", "-auth", "-account", "session", "password"], &numbers)
            switch Int.random(in: 0..<40, using: &numbers) {
            case 0: text += "# comment \\"
            case 1: text += " \t"
            case 2: text += pick(["acc", "auth", "@include", "auth required", "-"], &numbers)
            case 3: text += "\(facility) \(control(&numbers)) \(module(&numbers))\r"
            case 4: text += "\(facility) \\\n \(control(&numbers)) \\ \n\(module(&numbers)) # c"
            case 5: text += "\(facility) \(control(&numbers)) \\"
            case 6...9 where !names.isEmpty: text += "@include \(directory)/\(pick(names, &numbers))"
            case 10...14 where !names.isEmpty:
                text += "\(facility) \(pick(["include", "substack"], &numbers)) \(directory)/\(pick(names, &numbers))"
            default: text += "\(facility)\t\(control(&numbers))\(pick([" ", "\t"], &numbers))\(module(&numbers))"
            }
            text += "\n"
        }
        guard Int.random(in: 0..<10, using: &numbers) == 0 else { return text }
        return String(decoding: text.utf8.prefix(Int.random(in: 0...text.utf8.count, using: &numbers)), as: UTF8.self)
    }

    /// Returns the codes of libpam itself; nil if it does not load the stack.
    private static func codes(in directory: String) -> (auth: CInt, account: CInt)? {
        var handle: OpaquePointer?
        let status = notify_gateway_pam_start(PAMStack.service, "nobody", nil, directory, &handle)
        guard status == PAM_SUCCESS, let handle else { return nil }
        let auth = pam_authenticate(handle, 0)
        let account = pam_acct_mgmt(handle, 0)
        pam_end(handle, account)
        return (auth, account)
    }

    private static func canSucceed(_ stack: ServiceStack, _ facility: StackEntry.Facility) -> Bool {
        stack[facility].canSucceed { entry in
            switch entry.name {
            case "pam_permit.so": return [UInt8(PAM_SUCCESS)]
            case "pam_deny.so": return [UInt8(PAM_AUTH_ERR)]
            case "pam_debug.so":
                let prefix = facility == .auth ? "auth=" : "acct="
                let name = entry.arguments.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
                return [UInt8(StackControl.codes.firstIndex { $0 == name ?? "" } ?? 0)]
            // A module that may be missing, and is.
            default: return [UInt8(PAM_MODULE_UNKNOWN)]
            }
        }
    }

    @Test("A stack without errors returns in libpam exactly what its own lines say, whatever other admits")
    func same() throws {
        let seed = UInt64.random(in: .min ... .max)
        var numbers = Numbers(state: seed)
        let files = try PAMStack()
        try files.write("auth required pam_permit.so\naccount required pam_permit.so", to: "other")
        func write(_ text: String, to name: String) throws {
            try Data(text.utf8).write(to: URL(filePath: "\(files.path)/\(name)"))
        }
        var (valid, admitting, borrowing) = (0, 0, 0)
        // The generator makes every kind. A stack that admits is rare.
        let count = TestRun.count(full: 20_000, otherwise: 1500)
        for round in 0..<20 * count where round < count || min(valid, borrowing) <= 20 || admitting == 0 {
            try write(Self.file(including: [], in: files.path, &numbers), to: "c")
            try write(Self.file(including: ["c"], in: files.path, &numbers), to: "b")
            try write(Self.file(including: ["b", "c"], in: files.path, &numbers), to: "a")
            let text = Self.file(including: ["a", "b", "c"], in: files.path, &numbers)
            try write(text, to: PAMStack.service)
            let stack = ServiceStack(service: PAMStack.service, directory: files.path)
            guard stack.errors.isEmpty else {
                // Debian's libpam crashes for an include without a file.
                guard !stack.errors.contains(where: { $0.message.contains("to include is missing") }) else { continue }
                // libpam would have admitted everybody because of `other` alone.
                if let codes = Self.codes(in: files.path), codes.auth == PAM_SUCCESS, stack[.auth].isEmpty {
                    borrowing += 1
                }
                continue
            }
            let codes = Self.codes(in: files.path)
            valid += 1
            let (auth, account) = try #require(codes, "seed \(seed)\n\(text)")
            try #require(Self.canSucceed(stack, .auth) == (auth == PAM_SUCCESS), "seed \(seed)\n\(text)")
            try #require(Self.canSucceed(stack, .account) == (account == PAM_SUCCESS), "seed \(seed)\n\(text)")
            if auth == PAM_SUCCESS, account == PAM_SUCCESS { admitting += 1 }
        }
        #expect(valid > 20)
        #expect(admitting > 0)
        #expect(borrowing > 20)
    }
}
