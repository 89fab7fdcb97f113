import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// The ids, handles and bodies that the tests share.
enum Sample {
    static let label = RegistrationID("2372532420827572008-85883004107185159-4")!
    static let other = RegistrationID("11-22-3")!
    static let fresh = RegistrationID("44-55-6")!
    static let apns = "040B121920272E353C434A51585F666D747B828990979EA5ACB3BAC1C8CFD6DD"
    static let fcm = "fcm_Tok-en:APA91bHun4MxP5egoKMwt2KZFBaFUH"
    static let wns = "https://db5.notify.windows.com/?token=AwYAAAB%2b8dz%2f&x=1"

    static func handle(_ text: String = apns, _ service: PushService = .apns) -> DeviceHandle {
        // The samples conform to the grammar, so the initializer does not throw.
        try! HandleRules().handle(text, of: service)
    }

    static func body(_ platform: String = "apns", _ handle: String = apns, tags: String = "[]") -> String {
        "{\"Platform\":\"\(platform)\",\"Handle\":\"\(handle)\",\"Tags\":\(tags)}"
    }

    static func put(_ body: String = body(), as user: String = "alice") -> ReceivedRequest {
        ReceivedRequest("PUT /api/register/\(label)", as: user, json: body)
    }

    static let delete = ReceivedRequest("DELETE /api/register/\(label)", as: "alice")
    static let create = ReceivedRequest("POST /api/register?handle=\(apns)", as: "alice")
    static let whoami = ReceivedRequest("GET /auth/whoami", as: "alice")

    static func send(
        _ body: String = "\"hi\"", pns: String = "apns", to recipient: String = "bob", as user: String = "alice"
    ) -> ReceivedRequest {
        ReceivedRequest("POST /api/notifications?pns=\(pns)&to_tag=\(recipient)", as: user, json: body)
    }
}

extension TestGateway {
    /// Serves the request and expects this rejection, without a request to the backend.
    @discardableResult
    func expect(
        _ code: RejectionCode, for request: ReceivedRequest, _ comment: Comment? = nil,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async -> Response {
        let response = await serve(request)
        #expect(response.code == code, comment, sourceLocation: sourceLocation)
        #expect(response.status == code.status, comment, sourceLocation: sourceLocation)
        #expect(backend.requests.isEmpty && backend.unreadable.isEmpty, comment, sourceLocation: sourceLocation)
        #expect(journal.records(.intent).isEmpty, comment, sourceLocation: sourceLocation)
        #expect(ledger.openClaims == 0, comment, sourceLocation: sourceLocation)
        #expect(ledger.changes.isEmpty, comment, sourceLocation: sourceLocation)
        return response
    }
}
