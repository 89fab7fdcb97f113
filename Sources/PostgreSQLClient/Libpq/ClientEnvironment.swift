internal import CLibpq
internal import Glibc

/// libpq's connection keywords, and the environment variables from which it would take the others.
enum ClientEnvironment {
    /// The keywords of the installed libpq, with the variables that give those their value which a caller leaves out.
    private static let keywords: [String: String?] = {
        unsetenv("PGSERVICE")
        guard let options = PQconndefaults() else { return [:] }
        defer { PQconninfoFree(options) }
        var keywords: [String: String?] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            keywords[String(cString: keyword)] = .some(option.pointee.envvar.map { String(cString: $0) })
            option += 1
        }
        return keywords
    }()

    /// Variables that libpq sends to the server as settings of the session, without a keyword.
    private static let settingVariables = ["PGDATESTYLE", "PGTZ", "PGGEQO"]

    /// Whether the installed libpq has the keyword.
    static func hasKeyword(_ keyword: String) -> Bool { keywords[keyword] != nil }

    /// Removes the variables of the process that would take effect beside these keywords.
    ///
    /// libpq ignores empty values, so a keyword without a neutral value can only be kept from its variable by removing
    /// that. glibc's unsetenv moves pointers and frees nothing: a thread that reads the environment meanwhile may at
    /// worst miss a variable once.
    static func removeVariables(except given: some Sequence<String>) {
        let given = Set(given)
        for (keyword, variable) in keywords where !given.contains(keyword) {
            if let variable { remove(variable) }
        }
        settingVariables.forEach(remove)
    }

    private static func remove(_ variable: String) {
        if getenv(variable) != nil { unsetenv(variable) }
    }
}
