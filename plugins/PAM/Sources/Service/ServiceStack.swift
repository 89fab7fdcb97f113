internal import CPAM
internal import Foundation

/// The file with the module stack of a PAM service.
///
/// libpam uses the stack `other` for a service without a file, and on some distributions that stack accepts any
/// system password. The modules are therefore called only while the service's own file exists.
struct ServiceStack {
    let service: String
    let directory: String?

    /// The directories that libpam searches, in its order.
    private static let systemDirectories = ["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"]

    /// The path of the service's file, or nil if there is none.
    var file: String? { file(named: service) }

    /// Returns the path of a readable file with this name in the search directories. An absolute path is returned as
    /// it is. Returns nil if there is no such file.
    func file(named name: String) -> String? {
        let directories = directory.map { [$0] } ?? Self.systemDirectories
        let paths = name.hasPrefix("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { access($0, R_OK) == 0 }
    }

    /// Returns every problem of the stack's file, one line each.
    func problems() -> [String] {
        guard let file else {
            let places = directory ?? Self.systemDirectories.joined(separator: ", ")
            return ["there is no readable file \"\(service)\" in \(places)"]
        }
        // Write access to the file or its directory decides which code verifies logins.
        let writable = [directory, file].compactMap { $0 }.filter(Self.isWritableByOthers)
        return writable.map { "\($0) is writable by users other than its owner; run: chmod go-w \($0)" }
    }

    private static func isWritableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & (S_IWGRP | S_IWOTH) != 0
    }
}

/// The modules that a stack's file calls (pam.d(5)).
extension ServiceStack {
    /// Returns recommendations about the stack, one line each.
    func warnings() -> [String] {
        guard let file else { return [] }
        var seen: Set<String> = []
        return Self.countResettingModules.intersection(accountModules(of: file, &seen)).sorted().map { module in
            "\(module) in \"account\" resets its count of wrong passwords at every call, and the gateway checks accounts "
                + "every ten minutes; call it in \"auth\" instead"
        }
    }

    /// Modules that lock accounts, and that in `account` assume that a correct password came before.
    private static let countResettingModules: Set<String> = ["pam_faillock.so", "pam_tally.so", "pam_tally2.so"]

    /// Returns the file names of the `account` modules of a file and of the files that it includes. Reads each file
    /// once.
    private func accountModules(of file: String, _ seen: inout Set<String>) -> Set<String> {
        guard seen.insert(file).inserted, let bytes = FileManager.default.contents(atPath: file) else { return [] }
        var modules: Set<String> = []
        func include(_ name: Substring, _ seen: inout Set<String>) {
            guard let file = self.file(named: String(name)) else { return }
            modules.formUnion(accountModules(of: file, &seen))
        }
        for line in Self.lines(of: String(decoding: bytes, as: UTF8.self)) {
            let fields = Self.fields(of: line[...])
            guard fields.count > 1 else { continue }
            if fields[0] == "@include" {
                include(fields[1], &seen)
            } else if fields.count > 2, ["account", "-account"].contains(fields[0].lowercased()) {
                switch fields[1].lowercased() {
                case "include", "substack": include(fields[2], &seen)
                default: modules.insert(String(fields[2].split(separator: "/").last ?? ""))
                }
            }
        }
        return modules
    }

    /// Returns the lines without comments. A line that ends in a backslash is joined with the next one, unless it has
    /// a comment.
    private static func lines(of text: String) -> [String] {
        var lines: [String] = []
        var continues = false
        for whole in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = whole.prefix { $0 != "#" }
            while line.last?.isWhitespace == true { line.removeLast() }
            let goesOn = line.last == "\\" && !whole.contains("#")
            if goesOn { line.removeLast() }
            if continues { lines[lines.count - 1] += " " + line } else { lines.append(String(line)) }
            continues = goesOn
        }
        return lines
    }

    /// Returns the words of a line. A control in brackets is one word.
    private static func fields(of line: Substring) -> [Substring] {
        var fields: [Substring] = []
        var rest = line.drop(while: \.isWhitespace)
        while let first = rest.first {
            let end =
                first == "[" ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(where: \.isWhitespace)
            fields.append(rest[..<(end ?? rest.endIndex)])
            rest = rest[(end ?? rest.endIndex)...].drop(while: \.isWhitespace)
        }
        return fields
    }
}
