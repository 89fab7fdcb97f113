internal import GatewayCore
internal import NIOCore

extension ExternalProcessConformance {
    /// What a gateway does, in all the ways in which it may.
    static let dialogueChecks: [Check] = [
        Check("chooses a version that it speaks among others") { run, _ throws(ConformanceFault) in
            try await run.connected { connection throws(ConformanceFault) in
                _ = try await connection.greet(#"{"type":"hello","versions":[1,99],"gateway":"conformance"}"#)
            }
        },
        Check("closes where it speaks none of the versions") { run, _ throws(ConformanceFault) in
            try await run.connected { connection throws(ConformanceFault) in
                await connection.send(json: #"{"type":"hello","versions":[99],"gateway":"conformance"}"#)
                try await connection.end()
            }
        },
        Check("passes over members that it does not know") { run, kinds throws(ConformanceFault) in
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet(
                    #"{"type":"hello","versions":[1],"gateway":"conformance","later":{"a":[1]}}"#)
                let request = ConformanceRequest(kinds[0].rawValue, ["later": #"{"a":[null,true,1e3,"x"]}"#])
                await connection.send(json: request.json)
                try await connection.refusal(of: request.id)
            }
        },
        Check("refuses a credential of each kind that it takes") { run, kinds throws(ConformanceFault) in
            for kind in kinds { try await run.refusal(of: ConformanceRequest(kind.rawValue)) }
        },
        Check("does not accept a kind that it does not know") { run, _ throws(ConformanceFault) in
            let request = ConformanceRequest("certificate", ["token": "\"conformance\""])
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                await connection.send(json: request.json)
                try await connection.refusal(of: request.id)
            }
        },
        Check("answers several requests of one connection, each by its id") { run, kinds throws(ConformanceFault) in
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                for _ in 0..<3 {
                    let request = ConformanceRequest(kinds[0].rawValue)
                    await connection.send(json: request.json)
                    try await connection.refusal(of: request.id)
                }
            }
        },
        Check("serves a connection while another is silent") { run, kinds throws(ConformanceFault) in
            try await run.connected { silent throws(ConformanceFault) in
                try await silent.greet()
                // Half of a frame's length, and nothing more.
                await silent.send(ByteBuffer(bytes: [0, 0]))
                try await run.connected { halfOpen throws(ConformanceFault) in
                    try await run.refusal(of: ConformanceRequest(kinds[0].rawValue))
                }
            }
        },
        Check("reads a slow writer, byte by byte") { run, kinds throws(ConformanceFault) in
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                let request = ConformanceRequest(kinds[0].rawValue)
                for byte in Frame.around(Array(request.json.utf8)).readableBytesView {
                    await connection.send(ByteBuffer(bytes: [byte]))
                }
                try await connection.refusal(of: request.id)
            }
        },
        Check("keeps its wits when requests are pipelined") { run, kinds throws(ConformanceFault) in
            let requests = (0..<3).map { _ in ConformanceRequest(kinds[0].rawValue) }
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                var bytes = ByteBuffer()
                for request in requests { bytes.writeImmutableBuffer(Frame.around(Array(request.json.utf8))) }
                await connection.send(bytes)
                // It may close, since no gateway does this; but what it answers, it answers in order.
                for request in requests {
                    switch try await connection.receive() {
                    case .closed: return
                    case .silence: throw ConformanceFault("neither answered nor closed")
                    case .frame(let frame):
                        guard let verdict = try? Verdict(frame, on: request.id) else {
                            throw ConformanceFault("answered out of order")
                        }
                        if case .accepted = verdict { throw ConformanceFault("accepted a credential that nobody has") }
                    }
                }
            }
        },
        Check("answers or closes when the gateway says that nothing more will come") {
            run, kinds throws(ConformanceFault) in
            let request = ConformanceRequest(kinds[0].rawValue)
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                await connection.send(json: request.json)
                connection.closeOutput()
                switch try await connection.receive() {
                case .closed: return
                case .silence: throw ConformanceFault("neither answered nor closed")
                case .frame(let frame):
                    guard (try? Verdict(frame, on: request.id)) != nil else {
                        throw ConformanceFault("answered no verdict")
                    }
                    try await connection.end()
                }
            }
        },
        Check("accepts the login that was given") { run, _ throws(ConformanceFault) in
            guard let login = run.login else { return }
            let password = login.password.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let request = ConformanceRequest(
                "password",
                [
                    "user": ConformanceRequest.quoted(login.user), "password": ConformanceRequest.quoted(password),
                ])
            try await run.connected { connection throws(ConformanceFault) in
                try await connection.greet()
                await connection.send(json: request.json)
                let frame = try await connection.frame("a verdict")
                guard case .accepted = try? Verdict(frame, on: request.id) else {
                    throw ConformanceFault("did not accept it")
                }
            }
        },
    ]
}
