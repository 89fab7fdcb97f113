import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The endpoints of secure notifications", .timeLimit(.minutes(2))) struct SecureFetchTests {
    private static func fetch(_ id: String, as user: String = "bob") -> ReceivedRequest {
        ReceivedRequest("GET /api/notifications/\(id)", as: user)
    }

    /// A gateway with a text for bob, which has the id 1000.
    private func gateway(limits: [Limit] = []) async -> TestGateway {
        let gateway = secureGateway(limits: limits)
        let sent = await gateway.serve(
            ReceivedRequest("POST /api/notifications?pns=apns&to_tag=bob&secure=true", as: "alice", json: #""a \"b\"""#)
        )
        #expect(sent.status == 200)
        return gateway
    }

    @Test("The recipient reads the text as the tutorial's clients expect it, after the record")
    func recipient() async throws {
        let gateway = await gateway()
        let before = gateway.timeline.words.count
        let response = await gateway.serve(Self.fetch("1000"))
        #expect(response.status == 200 && response.contentType == "application/json")
        #expect(response.text == #"{"Id":1000,"Payload":"a \"b\"","Read":false}"#)
        #expect(response.values("Cache-Control") == ["no-store"])
        #expect(await gateway.serve(Self.fetch("1000")).text == #"{"Id":1000,"Payload":"a \"b\"","Read":true}"#)
        #expect(gateway.timeline.words.dropFirst(before) == ["recorded", "outcome", "recorded", "outcome"])
        for record in [gateway.journal.records(.intent).last, gateway.journal.records(.outcome).last] {
            let facts = try #require(record?.facts)
            #expect(facts.action == .notificationFetch && facts.user?.text == "bob" && facts.secureID?.number == 1000)
        }
    }

    @Test("A text is not disclosed while the journal cannot be written, and stays unread")
    func noJournal() async throws {
        let gateway = await gateway()
        gateway.journal.fail(JournalUnavailable("disk"))
        #expect(await gateway.serve(Self.fetch("1000")).code == .journalUnavailable)
        #expect(gateway.texts.texts.allSatisfy { $1.fetched == nil })
    }

    @Test("Another user, unknown, expired and malformed ids get the same 404, after one look-up each")
    func misses() async throws {
        let gateway = await gateway()
        let reference = await gateway.serve(Self.fetch("1001"))
        #expect(reference.status == 404 && reference.code == .unknownNotification)
        let ids = [
            "1", "0", "-1", "01000", "2147483647", "2147483648", "99999999999999999999", "1000x", "abc", "1e3", "+1000",
        ]
        let requests =
            ids.map { Self.fetch($0) } + ["alice", "carol", "eve"].map { Self.fetch("1000", as: $0) }
        for request in requests {
            let lookups = gateway.texts.lookups
            let response = await gateway.serve(request)
            #expect(response == reference && gateway.texts.lookups == lookups + 1)
        }
        gateway.clock.advance(by: .seconds(3600))
        #expect(await gateway.serve(Self.fetch("1000")) == reference)
        #expect(gateway.journal.records(.intent).count == 1)
    }

    @Test("Guessing is bounded: after 30 misses in a minute no id is looked up, and a hit costs nothing")
    func guessing() async throws {
        let gateway = await gateway()
        for _ in 0..<100 { #expect(await gateway.serve(Self.fetch("1000")).status == 200) }
        for number in 1...30 { #expect(await gateway.serve(Self.fetch("\(number)")).status == 404) }
        let lookups = gateway.texts.lookups
        for id in ["31", "1000"] {
            let response = await gateway.serve(Self.fetch(id))
            #expect(response.status == 429 && response.text.contains("notification-misses"))
        }
        #expect(gateway.texts.lookups == lookups)
        #expect(await gateway.serve(Self.fetch("1000", as: "alice")).status == 404)
    }

    @Test("The limits of calls count fetches and misses")
    func limits() async throws {
        let gateway = await gateway(limits: [Limit(name: "calls", per: [.user], count: 2, period: .seconds(60))])
        #expect(await gateway.serve(Self.fetch("1000")).status == 200)
        #expect(await gateway.serve(Self.fetch("1")).status == 404)
        #expect(await gateway.serve(Self.fetch("1000")).status == 429)
    }

    @Test("The list has the ids that were not fetched, newest first, without a record")
    func list() async throws {
        let gateway = await gateway()
        let words = gateway.timeline.words
        let list = ReceivedRequest("GET /api/notifications", as: "bob")
        let response = await gateway.serve(list)
        #expect(
            response.text == #"{"notifications":[{"id":1000,"at":"\#(gateway.clock.clocks.wall())"}]}"#)
        #expect(
            await gateway.serve(ReceivedRequest("GET /api/notifications", as: "alice")).text == #"{"notifications":[]}"#
        )
        #expect(gateway.timeline.words == words)
        #expect(await gateway.serve(Self.fetch("1000")).status == 200)
        #expect(await gateway.serve(list).text == #"{"notifications":[]}"#)
        let later = gateway.clock.clocks.wall().adding(1)
        #expect(
            await gateway.serve(ReceivedRequest("GET /api/notifications?since=\(later)&limit=5", as: "bob")).status
                == 200)
        for query in ["?limit=101", "?since=x", "?secure=true"] {
            #expect(
                await gateway.serve(ReceivedRequest("GET /api/notifications\(query)", as: "bob")).code
                    == .malformedRequest)
        }
    }

    @Test("Without secure sends there is no route, with or without a credential")
    func absent() async throws {
        let gateway = TestGateway()
        for request in [Self.fetch("1000"), ReceivedRequest("GET /api/notifications/1000")] {
            #expect(await gateway.serve(request).code == .noRoute)
        }
        #expect(await gateway.serve(ReceivedRequest("GET /api/notifications", as: "bob")).code == .methodNotAllowed)
    }

    @Test("A stranger, a body, a query and another method get no text")
    func requests() async throws {
        let gateway = await gateway()
        #expect(await gateway.serve(ReceivedRequest("GET /api/notifications/1000")).code == .credentialsMissing)
        #expect(await gateway.serve(Self.fetch("1000?x=1")).code == .malformedRequest)
        #expect(await gateway.serve(Self.fetch("1000/1")).code == .noRoute)
        #expect(
            await gateway.serve(ReceivedRequest("DELETE /api/notifications/1000", as: "bob")).code == .methodNotAllowed)
        #expect(
            await gateway.serve(ReceivedRequest("GET /api/notifications/1000", as: "bob", json: "1")).code
                == .malformedRequest)
        #expect(gateway.texts.lookups == 0)
    }

    @Test("If texts cannot be read the response is 503")
    func unavailable() async throws {
        let gateway = await gateway()
        gateway.texts.fail(SecureTextsUnavailable("disk"))
        for path in ["/api/notifications/1000", "/api/notifications"] {
            let response = await gateway.serve(ReceivedRequest("GET \(path)", as: "bob"))
            #expect(response.status == 503 && response.code == .textsUnavailable)
            #expect(!response.text.contains("disk"))
        }
    }
}
