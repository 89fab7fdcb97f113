import Testing

@Suite("Problems of the backend section")
struct BackendProblemTests {
    @Test("Each invalid setting of a custom profile and credential is reported")
    func profileMistakes() {
        let text = """
            backend:
              url: embedded
              profile:
                from: core
                client: { register-path: /auth/x, notifications-path: /a//b, id-in: [path, path], update-status: { wns: 302, ios: 200 } }
                backend:
                  register-path: /n
                  notifications-path: /n
                  id-in: [path]
                  platforms: { apns: gcm, fcm: a b }
                  pns: { apns: x, fcm: X, mpns: mpns }
                  success: []
                  gone: [200, 404]
                  payload-frames: { apns: -1 }
                  idle: 0s
                  colour: red
              credential: { user-header: X-User, secret-header: x-user, secret: "a b" }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """
        let paths = ConfigurationText.problems(text).map { $0.split(separator: " ")[1] }
        #expect(
            paths == [
                "backend.profile.client.notifications-path:",
                "backend.profile.client.register-path:",
                "backend.profile.client.id-in:",
                "backend.profile.client.update-status.wns:",
                "backend.profile.client.update-status.ios:",
                "backend.profile.backend:",
                "backend.profile.backend.id-in:",
                "backend.profile.backend.platforms.fcm:",
                "backend.profile.backend.platforms:",
                "backend.profile.backend.pns:",
                "backend.profile.backend.pns.mpns:",
                "backend.profile.backend.success:",
                "backend.profile.backend.gone[0]:",
                "backend.profile.backend.idle:",
                "backend.profile.backend.payload-frames.apns:",
                "backend.profile.backend.colour:",
                "backend.credential.secret-header:",
                "backend.credential.secret:",
                "backend.profile:",
            ])
    }

    @Test(
        "A header field that frames requests, belongs to the connection or is set by the gateway is rejected",
        arguments: [
            "Host", "content-length", "TRANSFER-ENCODING", "TE", "Trailer", "Expect", "Connection", "Proxy-Connection",
            "Keep-Alive", "Upgrade", "Proxy-Authorization", "Authorization", "Accept", "Content-Type", "X-Request-Id",
            "Traceparent", "tracestate",
            "Content--Length", "-Host", "TransferEncoding", "X User", "X_User", "X:", "-", "é", "X-User\r\nHost",
        ])
    func reservedFields(field: String) {
        let text = """
            backend: { url: embedded, credential: { user-header: "\(field)", secret-header: X-S, secret: x } }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """
        #expect(ConfigurationText.problems(text).count == 1)
        #expect(ConfigurationText.problems(text).allSatisfy { $0.contains("is not a usable header field name") })
    }
}
