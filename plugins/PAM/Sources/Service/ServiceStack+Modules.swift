internal import Foundation

/// What a stack's text says about the modules that it calls (`pam.d(5)`).
extension ServiceStack {
    /// What is better changed, a line each.
    func warnings() -> [String] {
        guard let file else { return [] }
        return Self.forgetful.intersection(accountModules(of: file, depth: 0)).sorted().map { module in
            "\(module) in \"account\" forgets wrong passwords whenever it is asked, and the gateway looks at accounts every "
                + "ten minutes; have it do so in \"auth\""
        }
    }

    /// Modules that lock accounts, and in `account` take it for granted that a good password came before.
    private static let forgetful: Set<String> = ["pam_faillock.so", "pam_tally.so", "pam_tally2.so"]
    /// As deep as libpam follows files that include others.
    private static let deepest = 32

    /// The modules of `account`, without their directories, those of included files too.
    private func accountModules(of file: String, depth: Int) -> Set<String> {
        guard depth < Self.deepest, let bytes = FileManager.default.contents(atPath: file) else { return [] }
        var modules: Set<String> = []
        func include(_ name: Substring) {
            guard let file = self.file(named: String(name)) else { return }
            modules.formUnion(accountModules(of: file, depth: depth + 1))
        }
        let text = String(decoding: bytes, as: UTF8.self).replacing("\\\n", with: " ")
        for line in text.split(separator: "\n") {
            let fields = Self.fields(of: line.prefix { $0 != "#" })
            guard fields.count > 1 else { continue }
            if fields[0] == "@include" {
                include(fields[1])
            } else if fields.count > 2, ["account", "-account"].contains(fields[0].lowercased()) {
                switch fields[1].lowercased() {
                case "include", "substack": include(fields[2])
                default: modules.insert(String(fields[2].split(separator: "/").last ?? ""))
                }
            }
        }
        return modules
    }

    /// The words of a line, a control in brackets as one.
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
