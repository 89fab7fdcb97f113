import Foundation
import GatewayTesting
import Testing

@testable import PAM

/// Files of services. `DIR` is their directory, which has files to include; `F` is the service's file.
@Suite("Stacks of services")
struct ServiceStackTests {
    private static let good = "auth required pam_permit.so\naccount required pam_permit.so"

    private static func stack(_ text: String, library: InstalledLibrary = .loaded) throws -> (ServiceStack, PAMStack) {
        let files = try PAMStack()
        try files.write(good, to: "good")
        try files.write("account required pam_permit.so", to: "account")
        try files.write("# nothing", to: "empty")
        try files.write("auth include DIR/loop".replacing("DIR", with: files.path), to: "loop")
        try files.write("auth required pam_absent.so\nsession required pam_permit.so", to: "broken")
        let text = text.replacing("DIR", with: files.path)
        try Data(text.utf8).write(to: URL(filePath: "\(files.path)/\(PAMStack.service)"))
        return (ServiceStack(service: PAMStack.service, directory: files.path, library: library), files)
    }

    private static func errors(_ text: String, library: InstalledLibrary = .loaded) throws -> [String] {
        let (stack, files) = try stack(text, library: library)
        return stack.errors.map {
            $0.description.replacing("\(files.path)/\(PAMStack.service)", with: "F").replacing(files.path, with: "DIR")
        }
    }

    @Test(
        "A stack that libpam reads as it looks is valid",
        arguments: [
            good, good + "\n", "# comment\n\n \t\n\(good)\n# end",
            "AUTH Required pam_permit.so\nAccount OPTIONAL pam_permit.so",
            "-auth optional pam_absent.so\n\(good)",
            "auth required \\\n  pam_permit.so\naccount required pam_permit.so # c \\",
            "@include DIR/good", "@INCLUDE DIR/good\n", "auth include DIR/good\naccount substack DIR/good",
            "auth [ success = ok default=bad ]pam_permit.so\n@include DIR/account",
            "auth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n@include DIR/account",
            "auth [default=bad success=ok] pam_exec.so [echo a\\]b] c\n@include DIR/account",
            "# a comment with a carriage return\r\n\(good)", "account include DIR/broken\n\(good)",
            "session requierd pam_permit.so\npassword required pam_absent.so\nsession include nothing\n\(good)",
        ])
    func valid(_ text: String) throws {
        #expect(try Self.errors(text) == [])
    }

    private static let noAuth = "F calls no module in \"auth\"; libpam would use the stack of \"other\" there"
    private static let noAccount = "F calls no module in \"account\"; libpam would use the stack of \"other\" there"

    @Test(
        "A stack without modules of its own is an error",
        arguments: [
            ("", [noAuth, noAccount]), ("\n\n", [noAuth, noAccount]),
            ("# auth required pam_permit.so\n# account required pam_permit.so", [noAuth, noAccount]),
            ("auth required pam_permit.so", [noAccount]), ("account required pam_permit.so", [noAuth]),
            ("session required pam_permit.so\npassword required pam_permit.so", [noAuth, noAccount]),
            ("@include DIR/empty", [noAuth, noAccount]), ("auth include DIR/good", [noAccount]),
            ("auth include DIR/account\naccount include DIR/good", [noAuth]),
            ("auth substack DIR/empty\n@include DIR/account", [noAuth]),
            ("-auth required pam_absent.so\n@include DIR/account", [noAuth]),
        ])
    func empty(_ text: String, _ errors: [String]) throws {
        #expect(try Self.errors(text) == errors)
    }

    @Test(
        "A line that libpam reads as a failure, or otherwise than it looks, is an error with its place",
        arguments: [
            ("\(good)\nacc", "F:3: \"acc\" is not a facility; use auth, account, session or password, or @include"),
            ("\(good)\nsesion required pam_permit.so", "F:3: \"sesion\" is not a facility"),
            ("\(good)\n@inclde DIR/good", "F:3: \"@inclde\" is not a facility"),
            ("\(good)\naccount", "F:3: the control is missing"),
            ("\(good)\n\n# c\naccount required # pam_permit.so", "F:5: the module is missing"),
            ("\(good)\nauth requierd pam_unix.so", "F:3: \"requierd\" is not a control"),
            ("\(good)\nauth [sucess=1 default=ignore] pam_unix.so", "F:3: \"sucess=1\" is not a control"),
            ("\(good)\nauth [success=okay] pam_unix.so", "F:3: \"ay\" is not a control"),
            ("\(good)\nauth [success=0] pam_unix.so", "F:3: \"success=0\" is not a control"),
            ("\(good)\nauth [success=99999999999999999999] pam_unix.so", "F:3: \"success=9999"),
            ("\(good)\nauth [success=1 default=ignore pam_unix.so", "F:3: \"pam_unix.so\" is not a control"),
            ("\(good)\nauth required pam_unxi.so", "F:3: there is no module pam_unxi.so in "),
            ("\(good)\nauth required /nowhere/pam_unix.so", "F:3: there is no module /nowhere/pam_unix.so"),
            ("\(good)\nauth [success=2 default=ignore] pam_unix.so\nauth required pam_deny.so", "F:3: 2 jumps over"),
            ("\(good)\nauth include", "F:3: the file to include is missing"),
            ("\(good)\n@include", "F:3: the file to include is missing"),
            ("\(good)\nsession include # nothing", "F:3: the file to include is missing"),
            ("\(good)\nauth include DIR/nothing", "F:3: there is no readable file DIR/nothing"),
            ("\(good)\nauth include notify-gateway-absent", "F:3: there is no readable file "),
            ("\(good)\nauth include DIR/broken", "DIR/broken:1: there is no module pam_absent.so in "),
            ("\(good)\nauth include DIR", "DIR is not a regular file"),
            ("\(good)\nauth include /dev/null", "/dev/null is not a regular file"),
            ("\(good)\n@include DIR/loop", "DIR/loop includes itself"),
            ("\(good)\nauth substack DIR/loop", "DIR/loop includes itself"),
            ("\(good)\nsession include DIR/\(PAMStack.service)", "F includes itself"),
            (
                "auth required pam_permit.so\r\naccount required pam_permit.so\r\n",
                "F:1: the line ends in a carriage return"
            ),
            ("\(good)\nauth required pam_unix.so\u{0} x", "F:3: the line contains a NUL byte"),
            ("\(good)\naccount required \\", "F:3: the file ends in a line that a backslash continues"),
            ("\(good)\nauth required \\\n\npam_permit.so", "F:4: an empty line or a comment follows"),
            ("\(good)\nauth required \\\n# c\npam_permit.so", "F:4: an empty line or a comment follows"),
            (
                "# " + String(repeating: "x", count: 1022) + " auth sufficient pam_permit.so\n\(good)",
                "F:1: the line is longer"
            ),
            ("\(good)\nauth required pam_unix.so " + String(repeating: "a \\\n", count: 400) + "b", "longer than 1022"),
        ])
    func misread(_ text: String, _ error: String) throws {
        let errors = try Self.errors(text)
        #expect(errors.first?.hasPrefix(error) == true || errors.contains { $0.contains(error) }, "\(errors)")
    }

    @Test("A typo in a stack that the gateway does not use is a warning")
    func unused() throws {
        let (stack, files) = try Self.stack("\(Self.good)\nsession requierd pam_permit.so")
        #expect(stack.errors.isEmpty)
        #expect(stack.warnings.map(\.place) == [.init(file: "\(files.path)/\(PAMStack.service)", line: 3)])
    }

    @Test("A stack in which no login can succeed is a warning")
    func closed() throws {
        for line in ["auth required pam_deny.so", "auth [default=die] pam_unix.so", "account requisite pam_deny.so"] {
            let stack = try Self.stack("\(line)\n\(Self.good)").0
            #expect(stack.errors.isEmpty)
            #expect(stack.warnings.count == 1, "\(line)")
        }
        #expect(try Self.stack(Self.good).0.warnings.isEmpty)
    }

    @Test("The service's name is taken in lower case, and the service other is refused")
    func names() throws {
        let files = try PAMStack(Self.good)
        try files.write(Self.good, to: "Upper")
        func errors(_ service: String) -> [String] {
            ServiceStack(service: service, directory: files.path).errors.map(\.description)
        }
        #expect(errors(PAMStack.service.uppercased()) == [])
        #expect(errors("Upper") == ["there is no readable file \"upper\" in \(files.path)"])
        try files.write(Self.good, to: "other")
        #expect(errors("other").count == 1)
        #expect(errors("Other").count == 1)
    }

    @Test("Without Debian's patches @include is unknown, and a relative include is in the service's directory")
    func otherLibrary() throws {
        var library = InstalledLibrary.loaded
        library.isDebian = false
        let errors = try Self.errors("@include DIR/good", library: library)
        #expect(errors.first?.hasPrefix("F:1: \"@include\" is not") == true)
        #expect(try Self.errors("auth include good\naccount include good", library: library) == [])
    }

    @Test("The settings of libpam are found in its file")
    func library() {
        let text = "x\0/etc/pam.d/%s\0/usr/lib/pam.d/%s\0/usr/etc/pam.d/%s\0%s/%s\0/lib64/security/\0"
        var library = InstalledLibrary(image: Data(text.utf8))
        #expect(library.serviceDirectories == ["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"])
        #expect(library.moduleDirectories == ["/lib64/security"])
        #expect(!library.isDebian)
        library = InstalledLibrary(image: Data((text + "@include\0").utf8))
        #expect(library.moduleDirectories == ["/lib64/security", "/lib/security"])
        #expect(library.isDebian)
        library = InstalledLibrary(image: Data())
        #expect(library.serviceDirectories == ["/etc/pam.d", "/usr/lib/pam.d"])
        #expect(library.moduleDirectories.isEmpty)
        #expect(!InstalledLibrary.loaded.moduleDirectories.isEmpty)
    }

    @Test("A change of any file that was read or looked for is noticed")
    func changes() throws {
        let (stack, files) = try Self.stack("@include DIR/good")
        #expect(stack.isCurrent)
        try files.write(Self.good, to: "good")
        #expect(!stack.isCurrent)
        let again = ServiceStack(service: PAMStack.service, directory: files.path)
        #expect(again.isCurrent)
        try FileManager.default.removeItem(atPath: "\(files.path)/good")
        #expect(!again.isCurrent)
        let absent = ServiceStack(service: "absent", directory: files.path)
        #expect(absent.isCurrent)
        try files.write(Self.good, to: "absent")
        #expect(!absent.isCurrent)
    }
}
