import GatewayCore
import Testing

@Suite struct RejectionTests {
    @Test("The rejection codes are a closed list") func theRejectionCodesAreAClosedList() {
        #expect(
            Set(RejectionCode.allCases.map(\.rawValue)) == [
                "malformed-request", "malformed-message", "unknown-platform", "handle-unusable", "credentials-missing",
                "credentials-rejected", "identity-unmapped", "insecure-transport", "not-owner", "send-not-allowed",
                "tag-not-allowed", "no-route", "method-not-allowed", "request-timeout", "idempotency-in-progress",
                "payload-too-large", "uri-too-long", "unsupported-media-type", "expectation-failed",
                "idempotency-mismatch", "rate-limited", "registration-limit", "headers-too-large", "internal-error",
                "backend-failed", "backend-unreachable", "authenticator-unavailable", "journal-unavailable",
                "ledger-unavailable", "unknown-notification", "texts-unavailable", "texts-full", "overloaded",
                "draining", "backend-timed-out",
            ])
    }

    @Test("Facts are added to a rejection once") func factsAreAddedToARejectionOnce() {
        var first = CallFacts(call: CallID(process: 1, number: 1), peer: Peer(address: .local, text: "unix"))
        first.action = .send
        let second = CallFacts(call: CallID(process: 1, number: 2), peer: first.peer)
        let rejection = Rejection(.notOwner, "x").with(first).with(second)
        #expect(rejection.facts == first)
        #expect(rejection.side == .caller)
    }

    @Test("Each rejection code belongs to a side") func sides() {
        #expect(RejectionCode.internalError.side == .gateway)
        #expect(RejectionCode.backendTimedOut.side == .backend)
        #expect(RejectionCode.rateLimited.side == .caller)
    }
}
