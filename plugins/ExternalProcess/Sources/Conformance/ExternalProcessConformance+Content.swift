internal import GatewayCore

extension ExternalProcessConformance {
    /// Checks with requests that are valid JSON and have missing, mistyped or hostile members.
    static let contentChecks: [Check] = [
        broken("without an id", ["id": ""]),
        broken("whose id is a number", ["id": "1"]),
        broken("without a kind", ["kind": ""]),
        broken("whose kind is a list", ["kind": "[\"password\"]"]),
        password("closes on a request without a user") { run throws(ConformanceError) in
            try await run.closes(on: ConformanceRequest("password", ["user": ""]))
        },
        password("closes on a request whose password is an object") { run throws(ConformanceError) in
            try await run.closes(on: ConformanceRequest("password", ["password": "{}"]))
        },
        password("rejects the empty password") { run throws(ConformanceError) in
            for user in ["root", "admin", "conformance"] {
                try await run.expectRejection(
                    of: ConformanceRequest("password", ["user": "\"\(user)\"", "password": "\"\""]))
            }
        },
        password("rejects the user's name as password") { run throws(ConformanceError) in
            let name = "\"conformance-user\""
            try await run.expectRejection(of: ConformanceRequest("password", ["user": name, "password": name]))
        },
        password("rejects hostile user names with a valid verdict") { run throws(ConformanceError) in
            for name in hostileTexts {
                do throws(ConformanceError) {
                    try await run.expectRejection(
                        of: ConformanceRequest("password", ["user": ConformanceRequest.quoted(name)]))
                } catch {
                    throw ConformanceError("\(name.prefix(40).debugDescription): \(error.reason)")
                }
            }
        },
        password("rejects hostile passwords with a valid verdict") { run throws(ConformanceError) in
            for text in hostileTexts {
                do throws(ConformanceError) {
                    try await run.expectRejection(
                        of: ConformanceRequest("password", ["password": ConformanceRequest.quoted(text)]))
                } catch {
                    throw ConformanceError("\(text.prefix(40).debugDescription): \(error.reason)")
                }
            }
        },
    ]

    /// Texts with a meaning for shells, format strings, directories, databases, C and terminals.
    static let hostileTexts = [
        "\u{0}", "a\u{0}b", "\n", "a\r\nb", "\"", "\\", "'; --", "$(id)", "`id`", "%s%n%x", "../../etc/passwd", "*",
        "*)(uid=*", "a:b:c", "a,b", " ", "\u{7F}", "\u{1B}[2J", "\u{202E}nimda", "\u{FEFF}root", "ro\u{300}ot", "İ",
        "\u{1F469}\u{200D}\u{1F4BB}", "{\"user\":\"root\"}", String(repeating: "a", count: 1024),
        String(repeating: "\u{300}", count: 500),
    ]

    private static func broken(_ name: String, _ changes: [String: String]) -> Check {
        Check("closes on a request \(name)") { run, kinds throws(ConformanceError) in
            try await run.closes(on: ConformanceRequest(kinds[0].rawValue, changes))
        }
    }

    /// Makes a check for processes that accept passwords. Other processes pass it.
    private static func password(
        _ name: String, _ body: @escaping @Sendable (ExternalProcessConformance) async throws(ConformanceError) -> Void
    ) -> Check {
        Check(name) { run, kinds throws(ConformanceError) in
            if kinds.contains(.password) { try await body(run) }
        }
    }

    private func closes(on request: ConformanceRequest) async throws(ConformanceError) {
        try await connected { connection throws(ConformanceError) in
            try await connection.exchangeHellos()
            await connection.send(json: request.json)
            try await connection.expectClosure()
        }
    }
}
