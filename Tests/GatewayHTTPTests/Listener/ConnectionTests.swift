import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of one connection without sockets: order, persistence, 100-continue and draining.
@Suite struct ConnectionTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("A response is written completely") func aResponseIsWrittenCompletely() throws {
        let connection = try EmbeddedConnection(
            ClosureResponder { _ in
                Response(
                    status: 429, contentType: "text/plain", fields: [.init("Retry-After", "7")], body: Array("no".utf8))
            })
        try connection.send(Self.get)
        let written = try connection.written()
        let prefix =
            "HTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n"
            + "Content-Type: text/plain\r\nRetry-After: 7\r\nX-Request-Id: "
        #expect(written.hasPrefix(prefix))
        #expect(written.hasSuffix("\r\n\r\nno"))
        let id = written.dropFirst(prefix.count).prefix { $0 != "\r\n" }
        #expect(id.count == 32 && id.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        #expect(written.utf8.count == prefix.utf8.count + 32 + 4 + 2)
        #expect(connection.isOpen)
    }

    @Test("X-Request-Id is the id of the call") func xRequestIdIsTheIdOfTheCall() throws {
        let connection = try EmbeddedConnection(
            ClosureResponder { request in Response(status: 200, body: Array(request.id.text.utf8)) })
        try connection.send(Self.get + Self.get)
        let answers = try connection.written().split(separator: "X-Request-Id: ").dropFirst()
        #expect(answers.count == 2)
        for answer in answers {
            let parts = answer.split(separator: "\r\n\r\n")
            #expect(parts[1].hasPrefix(parts[0]))
        }
        #expect(Set(answers.map { $0.prefix(32) }).count == 2)
    }

    @Test("Requests are served one at a time in order") func requestsAreServedOneAtATimeInOrder() throws {
        let gate = Gate()
        let connection = try EmbeddedConnection(
            ClosureResponder { request in
                await gate.pass()
                return Response(status: 200, body: Array(request.path.readableBytesView))
            })
        try connection.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHo")
        for path in ["/1", "/2"] {
            #expect(gate.count == 1)
            #expect(try connection.answers() == [])
            gate.open()
            connection.loop.run()
            #expect(try connection.answers() == ["200 \(path)"])
        }
        #expect(gate.count == 0)
        try connection.send("st: a\r\n\r\n")
        gate.open()
        connection.loop.run()
        #expect(try connection.answers() == ["200 /3"])
    }

    @Test("Many pipelined requests do not recurse") func manyPipelinedRequestsDoNotRecurse() throws {
        let connection = try EmbeddedConnection()
        try connection.send(String(repeating: Self.get, count: 20_000))
        connection.loop.advanceTime(by: .seconds(1))
        #expect(try connection.answers().count == 20_000)
    }

    @Test(
        "A connection closes if the request asks for it",
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", nil, true),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close", false),
            ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", "close", false),
            ("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", "keep-alive", true),
        ])
    func aConnectionClosesIfTheRequestAsksForIt(_ request: String, _ field: String?, _ stays: Bool) throws {
        let connection = try EmbeddedConnection()
        // Bytes after a request that closes the connection are ignored.
        try connection.send(request + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        let written = try connection.written()
        #expect(written.contains("\r\nConnection: \(field ?? "")") == (field != nil))
        #expect(written.contains("/next") == stays)
        #expect(connection.isOpen == stays)
    }

    @Test("The response to HEAD has no body") func theResponseToHEADHasNoBody() throws {
        let connection = try EmbeddedConnection()
        try connection.send("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\n")
        let written = try connection.written()
        #expect(written.contains("\r\nContent-Length: 4\r\n"))
        #expect(written.hasSuffix("\r\n\r\n"))
        try connection.send("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n")
        let refused = try connection.written()
        #expect(refused.hasPrefix("HTTP/1.1 400 ") && refused.hasSuffix("\r\n\r\n"))
    }

    @Test("A status without a body has no Content-Length", arguments: [204, 304])
    func aStatusWithoutABodyHasNoContentLength(_ status: Int) throws {
        let connection = try EmbeddedConnection(ClosureResponder { _ in Response(status: status, body: [1]) })
        try connection.send(Self.get)
        let written = try connection.written()
        #expect(!written.contains("Content-Length"))
        #expect(written.hasSuffix("\r\n\r\n"))
    }

    @Test("100-continue is sent once") func leaveToContinueIsGivenOnce() throws {
        let connection = try EmbeddedConnection()
        try connection.send("POST /b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try connection.written() == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.send("x")
        #expect(try connection.written() == "")
        try connection.send("y")
        #expect(try connection.answers() == ["200 /b"])
    }

    @Test("A fault gets one response and closes the connection")
    func aFaultGetsOneResponseAndClosesTheConnection() throws {
        let connection = try EmbeddedConnection()
        try connection.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\n")
        #expect(try connection.answers() == ["200 /1", "400 malformed-request close"])
        #expect(!connection.isOpen)
    }

    @Test("The request contains the peer and the connection's security")
    func theRequestContainsThePeerAndTheConnectionsSecurity() throws {
        for allowsCredentials in [true, false] {
            let connection = try EmbeddedConnection(
                ClosureResponder { request in
                    Response(status: 200, body: Array("\(request.peer) \(request.allowsCredentials)".utf8))
                }, allowsCredentials: allowsCredentials)
            try connection.send(Self.get)
            #expect(try connection.answers() == ["200 127.0.0.1 \(allowsCredentials)"])
        }
    }

    @Test("A drain closes an idle connection at once") func aDrainClosesAnIdleConnectionAtOnce() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.get)
        let drained = connection.shared.drain(until: .distantFuture)
        #expect(!connection.isOpen)
        connection.loop.run()
        try drained.wait()
    }

    @Test("A drain waits briefly for the first request of a new connection")
    func aDrainWaitsBrieflyForTheFirstRequestOfANewConnection() throws {
        let used = try EmbeddedConnection()
        let drained = used.shared.drain(until: .distantFuture)
        used.loop.run()
        #expect(used.isOpen)
        try used.send(Self.get)
        #expect(try used.answers() == ["200 /a close"])
        used.loop.run()
        try drained.wait()

        let silent = try EmbeddedConnection()
        let cut = silent.shared.drain(until: .distantFuture)
        silent.loop.advanceTime(by: .milliseconds(1999))
        #expect(silent.isOpen)
        silent.loop.advanceTime(by: .milliseconds(1))
        #expect(!silent.isOpen)
        try cut.wait()
    }

    @Test("An announced close comes with the next response") func anAnnouncedCloseComesWithTheNextResponse() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.get)
        #expect(try connection.answers() == ["200 /a"])
        connection.shared.announceShutdown()
        #expect(connection.isOpen)
        try connection.send(Self.get)
        #expect(try connection.answers() == ["200 /a close"])
        #expect(!connection.isOpen)
    }

    @Test("A drain completes a request that has begun to arrive")
    func aDrainCompletesARequestThatHasBegunToArrive() throws {
        let connection = try EmbeddedConnection()
        try connection.send("GET /late HT")
        let drained = connection.shared.drain(until: .distantFuture)
        #expect(connection.isOpen)
        try connection.send("TP/1.1\r\nHost: a\r\n\r\n\(Self.get)")
        #expect(try connection.answers() == ["200 /late close"])
        #expect(!connection.isOpen)
        connection.loop.run()
        try drained.wait()
    }

    @Test("A drain waits for a call whose client has left") func aDrainWaitsForACallWhoseClientHasLeft() throws {
        let gate = Gate()
        let connection = try EmbeddedConnection(
            ClosureResponder { _ in
                await gate.pass()
                return Response(status: 200)
            })
        try connection.send(Self.get)
        connection.channel.close(promise: nil)
        var isDrained = false
        connection.shared.drain(until: .distantFuture).assumeIsolated().whenComplete { _ in isDrained = true }
        connection.loop.run()
        #expect(!isDrained)
        gate.open()
        connection.loop.run()
        #expect(isDrained)
        #expect(connection.shared.callsInFlight == 0)
    }

    @Test("A drain closes the remaining connections at the deadline")
    func aDrainClosesTheRemainingConnectionsAtTheDeadline() throws {
        let gate = Gate()
        let connection = try EmbeddedConnection(
            ClosureResponder { _ in
                await gate.pass()
                return Response(status: 200)
            })
        try connection.send(Self.get)
        var isDrained = false
        connection.shared.drain(until: connection.loop.now + .seconds(5)).assumeIsolated().whenComplete { _ in
            isDrained = true
        }
        connection.loop.advanceTime(by: .seconds(4))
        #expect(connection.isOpen && !isDrained)
        connection.loop.advanceTime(by: .seconds(1))
        #expect(!connection.isOpen && isDrained)
        gate.open()
        connection.loop.run()
    }

    @Test("A second drain may have an earlier deadline") func aSecondDrainMayHaveAnEarlierDeadline() throws {
        let connection = try EmbeddedConnection()
        try connection.send("GET /half")
        let first = connection.shared.drain(until: .distantFuture)
        #expect(connection.isOpen)
        _ = connection.shared.drain(until: connection.loop.now)
        connection.loop.run()
        #expect(!connection.isOpen)
        try first.wait()
    }
}
