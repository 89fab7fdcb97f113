import GatewaySupport
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayOperations

@Suite("Operator routes")
struct OperatorRouteTests {
    /// Reads the target and the body as a server would that found the route.
    private func parse(
        _ target: String, _ body: [UInt8] = [], by route: OperatorRoute
    ) throws(ControlError) -> (ControlRequest, ControlPage?) {
        let parts = target.split(separator: "?", maxSplits: 1)
        let isParameter = route.pathParameter != nil
        return try route.request(
            .init(
                pathValue: isParameter ? parts[0].split(separator: "/").last.map(String.init) : nil,
                query: parts.count > 1 ? String(parts[1]) : nil, body: body))
    }

    private func route(_ operation: String) throws -> OperatorRoute { try #require(OperatorRoute.of(operation)) }

    @Test("Each request of a client arrives as it was sent", arguments: OperatorRoute.all.map(\.operation))
    func roundTrip(operation: String) throws {
        let route = try route(operation)
        let texts = ["ä b+c&d=e%/?#\u{0}\n\"", "", "2026-11-22T09:00:00Z", "..", "{user}"]
        for text in texts {
            var request = ControlRequest(operation)
            for parameter in (route.pathParameter.map { [$0] } ?? []) + route.query + route.body {
                let value: JSONValue =
                    switch parameter.kind {
                    case .flag: .bool(true)
                    case .texts: .array([.string(text)])
                    case .text, .time: .string(text)
                    }
                request.arguments.append(.init(parameter.argument, value))
            }
            let page = route.output == .page ? ControlPage(limit: 7, after: nil) : nil
            let (target, body) = route.target(of: request, page: page)
            #expect(target.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            if route.pathParameter == nil || !text.isEmpty {
                let (parsed, parsedPage) = try parse(target, body ?? [], by: route)
                #expect(parsed == request)
                #expect(parsedPage == page)
            }
        }
    }

    @Test("A cursor is opaque and leads to the position after which the page starts")
    func cursors() throws {
        let route = try route("registrations list")
        for position in ["100", "7260336227650468927-4200236381151834034-1", "ä"] {
            let (_, page) = try parse("/v1/registrations?cursor=\(OperatorRoute.cursor(position))", by: route)
            #expect(page == ControlPage(limit: 100, after: position))
        }
    }

    @Test(
        "A query that the route does not take is malformed",
        arguments: [
            "nothing=1", "user=a&user=b", "user=%", "user=%4", "user=%zz", "user=%ff", "all=1", "all=TRUE", "all=",
            "limit=5", "cursor=MQ", "=", "user", "&&a",
        ])
    func queries(query: String) throws {
        let route = try route("bans lift")
        // A parameter without a value is empty text.
        if query == "user" {
            #expect(try parse("/v1/bans?user", by: route).0.arguments == [.init("user", .string(""))])
            return
        }
        #expect { try parse("/v1/bans?\(query)", by: route) } throws: {
            ($0 as? ControlError)?.kind == .malformed
        }
    }

    @Test(
        "A body that the route does not take is malformed",
        arguments: [
            "", " ", "null", "[]", "\"user\"", "{", "{}{}", #"{"users":1}"#, #"{"user":"a","USER":"b"}"#,
            #"{"user":"a","user":"b"}"#, #"{"user":"\ud800"}"#, "\u{FEFF}{}", "{\"user\":\"a\tb\"}",
            #"{"user":[[[[[[[[[[]]]]]]]]]]}"#,
        ])
    func bodies(body: String) throws {
        let route = try route("tokens revoke")
        #expect { try parse("/v1/revocations", Array(body.utf8), by: route) } throws: {
            ($0 as? ControlError)?.kind == .malformed
        }
    }

    @Test("A mutated query or body does not trap")
    func mutations() throws {
        var random = SplitMix(seed: 7)
        let (list, revoke) = (try route("limits show"), try route("tokens revoke"))
        let good = Array("name=pair&user=%C3%A4lice&limit=7&cursor=MQ".utf8)
        let body = Array(#"{"user":"älice","until":"2026-11-22T09:00:00Z"}"#.utf8)
        for round in 0..<20_000 {
            var bytes = round % 2 == 0 ? good : body
            for _ in 0...Int(random.next() % 3) {
                let index = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
                default: if bytes.count > 1 { bytes.remove(at: index) }
                }
            }
            _ = try? list.request(.init(query: String(decoding: bytes, as: UTF8.self)))
            _ = try? revoke.request(.init(body: bytes))
        }
    }

    @Test("A problem document leads back to the error of the operation")
    func problems() {
        for kind in ControlError.Kind.allCases {
            let error = ControlError(kind, "because of \"this\"")
            #expect(OperatorProblem.error(OperatorProblem(error).document) == error)
        }
        for code in OperatorProblem.Code.allCases {
            #expect((400...503).contains(code.status.code))
            #expect(OperatorProblem.error(OperatorProblem(code, "x").document) != nil)
        }
        #expect(OperatorProblem.error(.object([.init("type", .string("about:blank"))])) == nil)
        #expect(OperatorProblem.error(.null) == nil)
    }
}
