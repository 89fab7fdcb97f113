import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

extension DirectoryTests {
    /// Servers that are away, hang or restart.
    @Suite("Outages")
    struct OutageTests {
        @Test("A server that is away is unavailable, and a restarted one serves the next login")
        func restart() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            slapd.kill()
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
            #expect(await authenticator.login("alice", "wrong") == .unavailable(.unreachable))
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.unreachable))
            try slapd.start()
            #expect(await authenticator.login("alice", "right").isGrant)
            // The worker's kept connections are closed by another restart, and no login fails for that.
            slapd.kill()
            try slapd.start()
            #expect(await authenticator.login("alice", "right").isGrant)
        }

        @Test("A server that is killed during a login makes that login unavailable and no other")
        func killedDuringLogin() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            slapd.signal(SIGSTOP)
            // Returns when the login is in the hands of the pool. The server responds to nothing any more.
            let pending = Task.immediate { await authenticator.login("alice", "right") }
            slapd.kill()
            #expect(await pending.value == .unavailable(.unreachable))
            try slapd.start()
            #expect(await authenticator.login("alice", "right").isGrant)
        }

        @Test("A server that hangs costs a login its timeout, and the worker is replaced")
        func hanging() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator { $0.timeout = .milliseconds(400) }
            #expect(await authenticator.login("alice", "right").isGrant)
            slapd.signal(SIGSTOP)
            #expect(await authenticator.login("alice", "right") == .unavailable(.timedOut))
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.timedOut))
            slapd.signal(SIGCONT)
            let generous = slapd.authenticator()
            #expect(await generous.login("alice", "right").isGrant)
            await authenticator.stop()
            await generous.stop()
            #expect(ObservedProcess.own.workers.isEmpty)
        }

        @Test("A reference to another server is not followed")
        func referral() async throws {
            let other = try Slapd(Slapd.user("mallory"))
            let searches = try other.operations("Search")
            let reference = """
                dn: ou=elsewhere,\(Slapd.people)
                objectClass: referral
                objectClass: extensibleObject
                ou: elsewhere
                ref: \(other.socketURL)/\(Slapd.people)
                ref: ldap://127.0.0.1:\(other.port)/\(Slapd.people)


                """
            let slapd = try Slapd(Slapd.user("alice") + reference)
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("mallory", "right") == .rejected(.wrong))
            #expect(await authenticator.login("alice", "right").isGrant)
            // A base that is elsewhere gives a referral as the result.
            let elsewhere = slapd.authenticator { $0.search.base = "ou=elsewhere,\(Slapd.people)" }
            #expect(await elsewhere.login("mallory", "right") == .unavailable(.unreachable))
            #expect(try other.operations("Search") == searches)
            #expect(try other.operations("Bind") == 0)
        }
    }
}
