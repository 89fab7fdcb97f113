internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension ExternalProcessConformance {
    /// Checks of everything that a gateway may do on a connection.
    static let dialogueChecks: [Check] = [
        Check("selects a supported version among others") { run, _ throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                _ = try await connection.exchangeHellos(
                    #"{"type":"hello","versions":[99,1,2],"gateway":"conformance"}"#)
            }
        },
        Check("closes if no offered version is supported") { run, _ throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                await connection.send(json: #"{"type":"hello","versions":[99],"gateway":"conformance"}"#)
                try await connection.expectClosure()
            }
        },
        Check("ignores unknown members") { run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos(
                    #"{"type":"hello","versions":[1,2],"gateway":"conformance","later":{"a":[1]}}"#)
                let request = ConformanceRequest(kinds[0].rawValue, ["later": #"{"a":[null,true,1e3,"x"]}"#])
                await connection.send(json: request.json)
                try await connection.expectRejection(of: request.id)
            }
        },
        Check("rejects an invalid credential of each kind that it accepts") { run, kinds throws(ConformanceError) in
            for kind in kinds { try await run.expectRejection(of: ConformanceRequest(kind.rawValue)) }
        },
        Check("does not accept an unknown kind") { run, _ throws(ConformanceError) in
            let request = ConformanceRequest("certificate", ["token": "\"conformance\""])
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                await connection.send(json: request.json)
                try await connection.expectRejection(of: request.id)
            }
        },
        Check("responds to several requests on one connection by their ids") { run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                for _ in 0..<3 {
                    let request = ConformanceRequest(kinds[0].rawValue)
                    await connection.send(json: request.json)
                    try await connection.expectRejection(of: request.id)
                }
            }
        },
        Check("serves a connection while another is silent") { run, kinds throws(ConformanceError) in
            try await run.connected { silent throws(ConformanceError) in
                try await silent.exchangeHellos()
                // Half of a frame's length, and nothing more.
                await silent.send(ByteBuffer(bytes: [0, 0]))
                try await run.connected { halfOpen throws(ConformanceError) in
                    try await run.expectRejection(of: ConformanceRequest(kinds[0].rawValue))
                }
            }
        },
        Check("reads a request that arrives byte by byte") { run, kinds throws(ConformanceError) in
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                let request = ConformanceRequest(kinds[0].rawValue)
                for byte in Frame.encode(Array(request.json.utf8)).readableBytesView {
                    await connection.send(ByteBuffer(bytes: [byte]))
                }
                try await connection.expectRejection(of: request.id)
            }
        },
        Check("responds in order, or closes, if requests are pipelined") { run, kinds throws(ConformanceError) in
            let requests = (0..<3).map { _ in ConformanceRequest(kinds[0].rawValue) }
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                var bytes = ByteBuffer()
                for request in requests { bytes.writeImmutableBuffer(Frame.encode(Array(request.json.utf8))) }
                await connection.send(bytes)
                // The process may close, since no gateway pipelines requests. If it responds, the order must be
                // right.
                for request in requests {
                    switch try await connection.receive() {
                    case .closed: return
                    case .silence: throw ConformanceError("neither responded nor closed")
                    case .frame(let frame):
                        guard let verdict = try? AuthenticationReply(frame, on: request.id) else {
                            throw ConformanceError("responded out of order")
                        }
                        if case .accepted = verdict { throw ConformanceError("accepted an invalid credential") }
                    }
                }
            }
        },
        Check("responds or closes when the gateway shuts down its output") {
            run, kinds throws(ConformanceError) in
            let request = ConformanceRequest(kinds[0].rawValue)
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                await connection.send(json: request.json)
                connection.closeOutput()
                switch try await connection.receive() {
                case .closed: return
                case .silence: throw ConformanceError("neither responded nor closed")
                case .frame(let frame):
                    guard (try? AuthenticationReply(frame, on: request.id)) != nil else {
                        throw ConformanceError("sent no verdict")
                    }
                    try await connection.expectClosure()
                }
            }
        },
    ]

    /// The check of a login that must succeed.
    static func acceptance(of login: Login) -> Check {
        Check("accepts the given login") { run, _ throws(ConformanceError) in
            let password = login.password.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let request = ConformanceRequest(
                "password",
                [
                    "user": ConformanceRequest.quoted(login.user), "password": ConformanceRequest.quoted(password),
                ])
            try await run.connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
                await connection.send(json: request.json)
                let frame = try await connection.expectFrame("a verdict")
                guard case .accepted = try? AuthenticationReply(frame, on: request.id) else {
                    throw ConformanceError("did not accept it")
                }
            }
        }
    }
}
