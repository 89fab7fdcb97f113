internal import Foundation
internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension Probe {
    /// Tests V1, V2, V18 and V26: messages to the probe's own user. If the received payload is not visible, the result
    /// depends only on whether the backend accepts the message.
    mutating func testMessages() async throws(ProbeError) {
        let injection = #"x","probe":"1"#
        try await message(.v1, "\"\(injection.replacing("\"", with: "\\\""))\"", arriving: injection, .apns)
        try await message(.v18, #""say "hi" now""#, arriving: #"say "hi" now"#, .apns)
        let element = "</text><text id='2'>x"
        try await message(.v2, "\"\(element)\"", arriving: element, .wns)
        let long = try await session.send("\"\(String(repeating: "long ", count: 1100))\"")
        recordFinding(.v26, long.isSuccess, "message of 5500 bytes: \(long.status)")
    }

    private mutating func message(
        _ vulnerability: ProbeVulnerability, _ body: String, arriving text: String, _ service: PushService
    ) async throws(ProbeError) {
        guard let inbox = session.target.inbox else {
            let status = try await session.send(body, service: service).status
            return recordFinding(
                vulnerability, Self.isSuccess(status),
                "send to the probe's own user: \(status); the payload is not visible")
        }
        let handle =
            service == .apns ? ProbeSession.handle() : "https://db5.notify.windows.com/?token=\(ProbeSession.handle())"
        guard let id = try await session.reserve(nil, as: session.own).id,
            Self.isSuccess(try await session.register(id, handle, platform: service, as: session.own))
        else { throw ProbeError("no device could be registered") }
        let status = try await session.send(body, service: service).status
        let payload = await inbox(handle).last ?? ""
        let expected = "From \(session.own): \(text)"
        let arrived = service == .apns ? Self.alert(in: payload) == expected : payload.contains(Self.xml(expected))
        recordFinding(
            vulnerability, Self.isSuccess(status) && !arrived,
            "\(status); payload \(arrived ? "unchanged" : "is \(payload)")"
        )
    }

    /// Tests V4 and V19: parameters of a send that reaches the probe's own user or nobody.
    mutating func testSendParameters() async throws(ProbeError) {
        // The expression names only this user, twice.
        let expression = try await session.send(#""probe""#, to: "\(session.own)%7C%7Cusername:\(session.own)")
        recordFinding(.v4, expression.isSuccess, "send to an expression: \(expression.status)")
        let unknown = try await session.send(#""probe""#, pns: "probe")
        let missing = try await session.call(
            "POST", "\(session.target.profile.notificationsPath)?pns=probe",
            fields: session.target.authorization(of: session.own), body: #""probe""#)
        let echoed = String(buffer: missing.body).contains(session.target.profile.notificationsPath)
        recordFinding(
            .v19, unknown.status >= 500 || missing.status >= 500 || echoed,
            "unknown pns: \(unknown.status); no to_tag: \(missing.status)\(echoed ? ", which echoes the target" : "")"
        )
    }

    private static func alert(in payload: String) -> String? {
        let value = try? JSONParser().parse(Array(payload.utf8).span)
        guard case .object(let members)? = value, members.count == 1 else { return nil }
        return value?["aps"]?["alert"]?.string
    }

    private static func xml(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("'", with: "&apos;").replacing("\"", with: "&quot;")
    }
}
