import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Client disconnects during authentication")
struct ClientDisconnectTests {
    private let alice = Identity(user: .test("alice"), authenticator: "late")

    private func request(
        _ clientDisconnect: ClientDisconnect, _ request: ReceivedRequest = Sample.send()
    ) -> ReceivedRequest {
        var request = request
        request.clientDisconnect = clientDisconnect
        return request
    }

    @Test("A disconnect cancels the login, drops its result and caches nothing")
    func login() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(request(clientDisconnect))
        await late.untilWaiting(1)
        await gateway.scheduler.untilWaiting(1)
        clientDisconnect.signal()
        #expect(await response.code == .requestTimeout)
        // The deadline's timer is cancelled as well.
        #expect(gateway.scheduler.waiting == 0)
        #expect(gateway.backend.requests == [])
        late.respond(.accepted(alice))
        #expect(gateway.gateway.passwordCache.count == 0)
        #expect(await gateway.serve(Sample.whoami).status == 200)
    }

    @Test("A disconnect cancels a token's verification")
    func token() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late, credentialKinds: [.bearer])
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(
            request(clientDisconnect, ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer some-token"))))
        await late.untilWaiting(1)
        clientDisconnect.signal()
        #expect(await response.code == .requestTimeout)
        late.respond(.accepted(alice))
    }

    @Test("Another call that waits for the same result receives it")
    func shared() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        let clientDisconnect = ClientDisconnect()
        async let leaving = gateway.serve(request(clientDisconnect))
        await late.untilWaiting(1)
        // The second call runs to its first wait, usually for the same verification. Both outcomes are valid here.
        let staying = Task.immediate { await gateway.serve(Sample.whoami) }
        clientDisconnect.signal()
        late.respond(.accepted(alice))
        #expect(await staying.value.status == 200)
        #expect(await leaving.code == .requestTimeout)
        #expect(gateway.backend.requests == [])
    }

    @Test("A login that a disconnect cancels is still charged")
    func paid() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        for number in 0..<30 {
            let clientDisconnect = ClientDisconnect()
            async let response = gateway.serve(request(clientDisconnect, .login("alice", "wrong \(number)")))
            if number < 10 {
                await late.untilWaiting(number + 1)
                clientDisconnect.signal()
            }
            let code = await response.code
            #expect(code == (number < 10 ? .requestTimeout : .rateLimited))
        }
        late.respond(.rejected(.wrong))
    }

    @Test("A disconnect ends the delay of a failed login")
    func floor() async {
        let gateway = TestGateway(asking: CountingAuthenticator(["alice": "good"])) { rules in
            rules.authentication = AuthenticationRules()
        }
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(request(clientDisconnect, .login("alice", "wrong")))
        await gateway.scheduler.untilWaiting(1)
        clientDisconnect.signal()
        #expect(await response.code == .credentialsRejected)
        #expect(gateway.scheduler.waiting == 0)
    }

    @Test("A client that disconnects before its call starts causes no authentication")
    func early() async {
        let counting = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: counting)
        let clientDisconnect = ClientDisconnect()
        clientDisconnect.signal()
        #expect(await gateway.serve(request(clientDisconnect, .login("alice", "good"))).code == .requestTimeout)
        #expect(counting.verificationCount == 0)
    }

    @Test("A recorded call completes after a disconnect, with its outcome")
    func recorded() async {
        let clientDisconnect = ClientDisconnect()
        let gateway = TestGateway(answering: { _ in
            clientDisconnect.signal()
            return .status(200)
        })
        let response = await gateway.serve(request(clientDisconnect))
        #expect(response.status == 200)
        #expect(gateway.backend.requests.count == 1)
        #expect(gateway.journal.records(.intent).count == 1)
        #expect(gateway.journal.records(.outcome).count == 1)
    }

    @Test("A watcher is notified once, at once after an earlier disconnect, and never after it stops watching")
    func watching() {
        let told = Mutex(0)
        let clientDisconnect = ClientDisconnect()
        clientDisconnect.watch { told.withLock { $0 += 1 } }
        clientDisconnect.stopWatching()
        clientDisconnect.signal()
        #expect(told.withLock { $0 } == 0)
        clientDisconnect.watch { told.withLock { $0 += 1 } }
        clientDisconnect.signal()
        #expect(told.withLock { $0 } == 1)
    }
}
