import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("A client that leaves before its call is recorded")
struct ClientDisconnectTests {
    private let alice = Identity(user: .test("alice"), authenticator: "late")

    private func request(
        _ clientDisconnect: ClientDisconnect, _ request: ReceivedRequest = Sample.send()
    ) -> ReceivedRequest {
        var request = request
        request.clientDisconnect = clientDisconnect
        return request
    }

    @Test("Its login is given up, its answer counts for nothing, and the next who asks is asked about anew")
    func login() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(request(clientDisconnect))
        await late.untilWaiting(1)
        await gateway.scheduler.untilWaiting(1)
        clientDisconnect.announce()
        #expect(await response.code == .requestTimeout)
        // Its deadline is let go of as well.
        #expect(gateway.scheduler.waiting == 0)
        #expect(gateway.backend.requests == [])
        late.respond(.accepted(alice))
        #expect(gateway.gateway.passwordCache.count == 0)
        #expect(await gateway.serve(Sample.whoami).status == 200)
    }

    @Test("Its token, too")
    func token() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late, takes: [.bearer])
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(
            request(clientDisconnect, ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer some-token"))))
        await late.untilWaiting(1)
        clientDisconnect.announce()
        #expect(await response.code == .requestTimeout)
        late.respond(.accepted(alice))
    }

    @Test("Who waits for the same answer gets it")
    func shared() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        let clientDisconnect = ClientDisconnect()
        async let leaving = gateway.serve(request(clientDisconnect))
        await late.untilWaiting(1)
        async let staying = gateway.serve(Sample.whoami)
        // The second has found the question of the first once it waits for it; whether it has, makes no difference to either.
        for _ in 0..<1000 { await Task.yield() }
        clientDisconnect.announce()
        late.respond(.accepted(alice))
        #expect(await staying.status == 200)
        #expect(await leaving.code == .requestTimeout)
        #expect(gateway.backend.requests == [])
    }

    @Test("What it has tried is paid for: leaving early is no way to try more")
    func paid() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        for number in 0..<30 {
            let clientDisconnect = ClientDisconnect()
            async let response = gateway.serve(request(clientDisconnect, .login("alice", "wrong \(number)")))
            if number < 10 {
                await late.untilWaiting(number + 1)
                clientDisconnect.announce()
            }
            let code = await response.code
            #expect(code == (number < 10 ? .requestTimeout : .rateLimited))
        }
        late.respond(.rejected(.wrong))
    }

    @Test("A refusal that waits for its time waits no longer")
    func floor() async {
        let gateway = TestGateway(asking: CountingAuthenticator(["alice": "good"])) { rules in
            rules.authentication = AuthenticationRules()
        }
        let clientDisconnect = ClientDisconnect()
        async let response = gateway.serve(request(clientDisconnect, .login("alice", "wrong")))
        await gateway.scheduler.untilWaiting(1)
        clientDisconnect.announce()
        #expect(await response.code == .credentialsRejected)
        #expect(gateway.scheduler.waiting == 0)
    }

    @Test("A client that has left before its call begins is asked about nowhere")
    func early() async {
        let counting = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: counting)
        let clientDisconnect = ClientDisconnect()
        clientDisconnect.announce()
        #expect(await gateway.serve(request(clientDisconnect, .login("alice", "good"))).code == .requestTimeout)
        #expect(counting.timesAsked == 0)
    }

    @Test("Once it is recorded the call goes on to its end, and its outcome is written")
    func recorded() async {
        let clientDisconnect = ClientDisconnect()
        let gateway = TestGateway(answering: { _ in
            clientDisconnect.announce()
            return .status(200)
        })
        let response = await gateway.serve(request(clientDisconnect))
        #expect(response.status == 200)
        #expect(gateway.backend.requests.count == 1)
        #expect(gateway.journal.records(.intent).count == 1)
        #expect(gateway.journal.records(.outcome).count == 1)
    }

    @Test("Whoever watches is told once, at once where the client has left, and not after the wait is over")
    func watching() {
        let told = Mutex(0)
        let clientDisconnect = ClientDisconnect()
        clientDisconnect.watch { told.withLock { $0 += 1 } }
        clientDisconnect.endWatch()
        clientDisconnect.announce()
        #expect(told.withLock { $0 } == 0)
        clientDisconnect.watch { told.withLock { $0 += 1 } }
        clientDisconnect.announce()
        #expect(told.withLock { $0 } == 1)
    }
}
