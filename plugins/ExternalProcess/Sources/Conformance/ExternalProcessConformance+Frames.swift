internal import GatewayCore
internal import NIOCore

extension ExternalProcessConformance {
    /// Checks with invalid frames, or frames without a valid message. The process must close and send nothing.
    static let framingChecks: [Check] = [
        closing("a length of 4 GiB", .bytes([0xFF, 0xFF, 0xFF, 0xFF])),
        closing("a length that is one byte too large", .bytes([0, 1, 0, 1])),
        closing("a length of zero", .bytes([0, 0, 0, 0])),
        closing("a frame that is not JSON", .text("hello")),
        closing("a frame with data after the JSON", .text("{}{}")),
        closing("a frame that is a list", .text("[1]")),
        closing("a frame that is not UTF-8", .frame([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])),
        closing("a frame nested a thousand deep", .text(String(repeating: "[", count: 1000))),
        closing("a message of an unknown type", .text(#"{"type":"surprise","id":"1"}"#)),
        closing("a message without a type", .text("{}")),
        closing("a second hello", .text(#"{"type":"hello","versions":[1]}"#)),
        Check("accepts a frame of nearly the largest size") { run, kinds throws(ConformanceError) in
            let bare = ConformanceRequest(kinds[0].rawValue, ["later": "\"\""]).json.utf8.count
            // Ids are random and may be a digit shorter, so the padding stays slightly below the limit.
            let filling = String(repeating: "x", count: Frame.maximumLength - bare - 16)
            try await run.expectRejection(of: ConformanceRequest(kinds[0].rawValue, ["later": "\"\(filling)\""]))
        },
        Check("survives a truncated frame") { run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                let whole = Frame.encode(Array(ConformanceRequest(kinds[0].rawValue).json.utf8))
                await connection.send(ByteBuffer(bytes: whole.readableBytesView.dropLast(5)))
                connection.closeOutput()
                try await connection.expectClosure()
            }
        },
        Check("closes on a request before the hello") { run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                await connection.send(json: ConformanceRequest(kinds[0].rawValue).json)
                try await connection.expectClosure()
            }
        },
    ]

    private enum InvalidInput {
        case bytes([UInt8])
        case frame([UInt8])
        case text(String)
    }

    private static func closing(_ name: String, _ input: InvalidInput) -> Check {
        let bytes =
            switch input {
            case .bytes(let bytes): ByteBuffer(bytes: bytes)
            case .frame(let json): Frame.encode(json)
            case .text(let json): Frame.encode(Array(json.utf8))
            }
        return Check("closes on \(name)") { run, _ throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                await connection.send(bytes)
                try await connection.expectClosure()
            }
        }
    }
}

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
