import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct ProblemDocumentTests {
    private static let statuses: [RejectionCode: Int] = [
        .malformedRequest: 400, .malformedMessage: 400, .unknownPlatform: 400, .handleUnusable: 400,
        .credentialsMissing: 401,
        .credentialsRejected: 401, .identityUnmapped: 403, .insecureTransport: 403, .notOwner: 403,
        .sendNotAllowed: 403,
        .tagNotAllowed: 403, .noRoute: 404, .methodNotAllowed: 405, .requestTimeout: 408, .idempotencyInProgress: 409,
        .payloadTooLarge: 413, .uriTooLong: 414, .unsupportedMediaType: 415, .expectationFailed: 417,
        .idempotencyMismatch: 422,
        .rateLimited: 429, .registrationLimit: 429, .headersTooLarge: 431, .internalError: 500, .backendFailed: 502,
        .backendUnreachable: 502, .authenticatorUnavailable: 503, .journalUnavailable: 503, .ledgerUnavailable: 503,
        .overloaded: 503,
        .draining: 503,
        .backendTimedOut: 504, .unknownNotification: 404, .textsUnavailable: 503, .textsFull: 507,
    ]

    @Test(
        "Every rejection code has its status and a problem document without internal details",
        arguments: RejectionCode.allCases)
    func everyCode(_ code: RejectionCode) throws {
        let gateway = TestGateway().gateway
        let response = gateway.reject(Rejection(code, "s3ntinel: internal"), id: CallID(process: 1, number: 1))
        #expect(response.status == Self.statuses[code])
        #expect(response.contentType == "application/problem+json")
        #expect(response.code == code)
        #expect(response.json?["title"]?.string?.isEmpty == false)
        #expect(response.values("Cache-Control") == ["no-store"])
        #expect(response.values("WWW-Authenticate").count == (response.status == 401 ? 2 : 0))
        #expect(response.values("Retry-After").isEmpty && response.values("Allow").isEmpty)
        #expect(!response.text.contains("s3ntinel"))
        guard case .object(let members)? = response.json else {
            Issue.record("the response is no JSON object")
            return
        }
        #expect(members.map(\.name) == ["type", "title", "status"])
    }

    @Test("Hints, methods and limits appear in the problem document and its fields")
    func hintsMethodsAndLimits() {
        func response(_ extra: Rejection.Extra?, hint: String? = nil) -> Response {
            ProblemDocument.response(Rejection(.rateLimited, "x", hint: hint, extra: extra))
        }
        #expect(response(nil, hint: "a \"hint\"").json?["detail"]?.string == "a \"hint\"")
        #expect(response(.allow([.put, .delete])).values("Allow") == ["PUT, DELETE"])
        // Retry-After is an integer of at least 1.
        #expect(response(.retryAfter(seconds: 0)).values("Retry-After") == ["1"])
        #expect(response(.retryAfter(seconds: -5)).values("Retry-After") == ["1"])
        let limited = response(.limit(name: "se\"nds\n", retryAfterSeconds: 7))
        #expect(limited.values("Retry-After") == ["7"])
        #expect(limited.json?["limit"]?.string == "se\"nds\n")
    }

    @Test("A rejection by the listener gets a response and no record")
    func rejectionsByTheListenerAreNotRecorded() {
        let gateway = TestGateway()
        let response = gateway.gateway.reject(Rejection(.headersTooLarge, "x"), id: CallID(process: 1, number: 1))
        #expect(response.status == 431)
        #expect(gateway.journal.records.isEmpty)
    }

    @Test("Every call result maps to its rejection code") func everyCallResultMapsToItsRejectionCode() {
        let codes: [CallResult: RejectionCode] = [
            .backendFailed: .backendFailed, .backendUnreachable: .backendUnreachable,
            .backendTimedOut: .backendTimedOut, .deleteUnconfirmed: .backendFailed,
            .ledgerUnavailable: .ledgerUnavailable, .textsUnavailable: .textsUnavailable,
            .overloaded: .overloaded, .ledgerFailed: .ledgerUnavailable, .unknownAtStop: .backendFailed,
            .unknownAfterCrash: .backendFailed, .notIssued: .internalError, .revoked: .credentialsRejected,
        ]
        for result in CallResult.allCases { #expect(result.rejection == codes[result]) }
    }
}
