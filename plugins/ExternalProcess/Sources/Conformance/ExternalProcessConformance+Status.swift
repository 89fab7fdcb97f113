internal import GatewayCore
internal import NIOCore

extension ExternalProcessConformance {
    /// Checks of queries of the status of accounts, for processes that speak version 2.
    static let statusChecks: [Check] = [
        Check("reports an unknown account as absent") { run, _ throws(ConformanceError) in
            try await run.expectAbsence(of: ConformanceRequest(statusOf: nil))
        },
        Check("reports the status of the given accounts") { run, _ throws(ConformanceError) in
            for account in run.accounts {
                let query = ConformanceRequest(statusOf: account.user)
                let status = try await run.connected { connection throws(ConformanceError) in
                    try await connection.exchangeHellos()
                    await connection.send(json: query.json)
                    return try await connection.expectStatus(on: query.id)
                }
                guard status.word == account.status.word else {
                    throw ConformanceError("reported \(account.user.debugDescription) as \(status.word)")
                }
            }
        },
        Check("reports hostile names as absent") { run, _ throws(ConformanceError) in
            for name in hostileTexts {
                do throws(ConformanceError) {
                    try await run.expectAbsence(of: ConformanceRequest(statusOf: name))
                } catch {
                    throw ConformanceError("\(name.prefix(40).debugDescription): \(error.reason)")
                }
            }
        },
        Check("responds to logins and status queries on one connection by their ids") {
            run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                for _ in 0..<3 {
                    let request = ConformanceRequest(kinds[0].rawValue)
                    await connection.send(json: request.json)
                    try await connection.expectRejection(of: request.id)
                    let query = ConformanceRequest(statusOf: nil)
                    await connection.send(json: query.json)
                    try await connection.expectAbsence(on: query.id)
                }
            }
        },
        Check("ignores unknown members of a status query") { run, _ throws(ConformanceError) in
            try await run.expectAbsence(
                of: ConformanceRequest(statusOf: nil, ["later": #"{"a":[null,true,1e3,"x"]}"#]))
        },
        Check("reads a status query that arrives byte by byte") { run, _ throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                let query = ConformanceRequest(statusOf: nil)
                for byte in Frame.encode(Array(query.json.utf8)).readableBytesView {
                    await connection.send(ByteBuffer(bytes: [byte]))
                }
                try await connection.expectAbsence(on: query.id)
            }
        },
        Check("serves a login while a status query is incomplete") { run, kinds throws(ConformanceError) in
            try await run.connected { slow throws(ConformanceError) in
                try await slow.exchangeHellos()
                let query = Frame.encode(Array(ConformanceRequest(statusOf: nil).json.utf8))
                await slow.send(ByteBuffer(bytes: query.readableBytesView.dropLast(1)))
                try await run.expectRejection(of: ConformanceRequest(kinds[0].rawValue))
            }
        },
        broken("without an id", ["id": ""]),
        broken("whose id is a number", ["id": "1"]),
        broken("without a user", ["user": ""]),
        broken("whose user is a list", ["user": "[\"conformance\"]"]),
        broken("whose user is null", ["user": "null"]),
    ]

    private static func broken(_ name: String, _ changes: [String: String]) -> Check {
        Check("closes on a status query \(name)") { run, _ throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                await connection.send(json: ConformanceRequest(statusOf: nil, changes).json)
                try await connection.expectClosure()
            }
        }
    }

    /// Sends the query on a connection of its own; fails unless the report says that there is no such account.
    private func expectAbsence(of query: ConformanceRequest) async throws(ConformanceError) {
        try await connected { connection throws(ConformanceError) in
            try await connection.exchangeHellos()
            await connection.send(json: query.json)
            try await connection.expectAbsence(on: query.id)
        }
    }
}

extension AccountStatus {
    /// The word of the protocol.
    fileprivate var word: String {
        switch self {
        case .valid: "valid"
        case .ended(.wrong): "absent"
        case .ended(let reason): reason.rawValue
        case .unknown: "unavailable"
        }
    }
}
