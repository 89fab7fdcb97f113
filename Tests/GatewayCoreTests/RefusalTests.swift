import GatewayCore
import Testing

@Suite struct RefusalTests {
    @Test func theListOfCodesIsClosed() {
        #expect(
            Set(RefusalCode.allCases.map(\.rawValue)) == [
                "malformed-request", "malformed-message", "unknown-platform", "handle-unusable", "credentials-missing",
                "credentials-rejected", "identity-unmapped", "insecure-transport", "not-owner", "send-not-allowed",
                "tag-not-allowed", "no-route", "method-not-allowed", "request-timeout", "idempotency-in-progress",
                "payload-too-large", "uri-too-long", "unsupported-media-type", "expectation-failed",
                "idempotency-mismatch", "rate-limited", "registration-limit", "headers-too-large", "internal-error",
                "backend-failed", "backend-unreachable", "authenticator-unavailable", "journal-unavailable",
                "ledger-unavailable", "overloaded", "draining", "backend-timed-out",
            ])
    }

    @Test func factsAreAddedOnce() {
        var first = CallFacts(call: CallID(process: 1, number: 1), peer: Peer(address: .local, text: "unix"))
        first.action = .send
        let second = CallFacts(call: CallID(process: 1, number: 2), peer: first.peer)
        let refusal = Refusal(.notOwner, "x").with(first).with(second)
        #expect(refusal.facts == first)
        #expect(refusal.side == .caller)
    }

    @Test func sides() {
        #expect(RefusalCode.internalError.side == .gateway)
        #expect(RefusalCode.backendTimedOut.side == .backend)
        #expect(RefusalCode.rateLimited.side == .caller)
    }
}
