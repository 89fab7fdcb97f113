import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// Reads forwarded requests back with readers that are not the gateway's. For any user, tags, message and platform the
/// result equals what the gateway decided.
@Suite(.timeLimit(.minutes(5))) struct RewritingPropertyTests {
    private static let names = NameRules(escaping: .hex)

    private static func profiles() -> [BackendProfile] {
        var own = BackendProfile(.core)
        own.client = BackendProfile(.classic).client
        own.backend.registerPath = "/v1/registration"
        own.backend.notificationsPath = "/v1/send"
        own.backend.platformNames = PlatformIdentifiers([
            .apns: PlatformIdentifier("iOS")!, .fcm: PlatformIdentifier("android")!,
            .wns: PlatformIdentifier("windows")!,
            .mpns: PlatformIdentifier("phone")!,
        ])!
        own.backend.pnsNames = PlatformIdentifiers([
            .apns: PlatformIdentifier("iOS")!, .fcm: PlatformIdentifier("android")!,
        ])!
        return BackendProfile.BuiltIn.allCases.map { BackendProfile($0) } + [own]
    }

    /// A gateway that accepts a bearer token which is the user's name in hexadecimal.
    private func gateway(_ profile: BackendProfile, deciding decision: LedgerDecision) -> TestGateway {
        TestGateway(
            adjust: { rules in
                rules.names = Self.names
                rules.client = profile.client
                rules.upstreams[0].backend = profile.backend
                rules.limiter = Limiter([], clocks: ManualClock().clocks)
                rules.policy.tags = [.init(user: .anyUser, allow: [TagPattern("*")!])]
                rules.authenticators = AuthenticatorChain([
                    .init(
                        name: "scripted", credentialKinds: [.bearer],
                        authenticator: ScriptedAuthenticator { credential, _ in
                            guard case .bearer(let token) = credential else { return .notMine }
                            let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                            return .accepted(Identity(user: Self.user(ofToken: text), authenticator: "scripted"))
                        })
                ])
            }, deciding: { _ in decision })
    }

    private static func token(_ user: UserName) -> ReceivedRequest.FieldValue {
        .text("Bearer " + user.text.utf8.map { String(format: "%02x", $0) }.joined())
    }

    private static func user(ofToken text: String) -> UserName {
        let digits = Array(text.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        return UserName(canonical: String(decoding: bytes, as: UTF8.self))!
    }

    private static func user(_ random: inout SplitMix) -> UserName {
        while true {
            if let user = names.canonical(LoginName(random.text(upTo: 10))) { return user }
        }
    }

    private static func basic(_ user: UserName) -> [String] {
        ["Basic " + Data("\(user):\(user)".utf8).base64EncodedString()]
    }

    private static func anyCase(_ word: String, _ random: inout SplitMix) -> String {
        word.map { Bool.random(using: &random) ? $0.uppercased() : $0.lowercased() }.joined()
    }

    private static func json(_ value: Any) throws -> [UInt8] {
        Array(try JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed))
    }

    @Test("A forwarded registration reads back as decided")
    func aForwardedRegistrationReadsBackAsDecided() async throws {
        var random = SplitMix(seed: 40)
        let alphabet = Array("abcXYZ019_@#.:-")
        for profile in Self.profiles() {
            for number in 0..<300 {
                let user = Self.user(&random)
                let words = Platform.allCases.filter { profile.backend.platformNames[$0.service] != nil }
                let platform = words.randomElement(using: &random)!
                let handle = Self.handle(platform.service, &random)
                var tags = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                    String(
                        (0...Int.random(in: 0..<20, using: &random)).map { _ in alphabet.randomElement(using: &random)!
                        })
                }
                tags += tags.prefix(5).map { Self.anyCase($0, &random) }
                tags.removeAll { ["username", "from"].contains($0.lowercased().split(separator: ":").first ?? "") }
                if Bool.random(using: &random) { tags.append(Self.anyCase("username:\(user)", &random)) }
                tags.shuffle(using: &random)
                let body: [String: Any] = [
                    Self.anyCase("Platform", &random): Self.anyCase(platform.rawValue, &random),
                    Self.anyCase("Handle", &random): handle, Self.anyCase("Tags", &random): tags,
                    "unknown": ["x": 1],
                ]
                let gateway = gateway(profile, deciding: .own(Sample.other))
                let response = await gateway.serve(
                    ReceivedRequest(
                        "PUT \(profile.client.registerPath)/\(Sample.label)", authorization: Self.token(user),
                        contentType: .text("application/json"), body: try Self.json(body), number: UInt64(number)))
                #expect((200...202).contains(response.status), "\(response.text) \(body)")
                let request = try #require(gateway.backend.requests.first)
                #expect(request.method == "PUT" && request.values("Authorization") == Self.basic(user))
                let path = profile.backend.registerPath
                #expect(
                    request.target
                        == (profile.backend.idLocation == .path
                            ? "\(path)/\(Sample.other)" : "\(path)?id=\(Sample.other)")
                )
                let read = try #require(
                    try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
                #expect(Set(read.keys) == ["Platform", "Handle", "Tags"])
                #expect(read["Platform"] as? String == profile.backend.platformNames[platform.service]?.text)
                let expectedHandle = try HandleRules().handle(handle, of: platform.service).text
                #expect(read["Handle"] as? String == expectedHandle)
                let sent = try #require(read["Tags"] as? [String])
                let wanted = Set(tags.map { $0.lowercased() }).subtracting(["username:\(user)"])
                #expect(sent.map { $0.lowercased() } == wanted.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
                #expect(sent.allSatisfy(tags.contains))
                let text = String(decoding: request.body, as: UTF8.self)
                #expect(text.hasPrefix("{\"Platform\":") && !text.contains(" ") && !text.contains("\n"))
            }
        }
    }

    @Test("A forwarded send reads back as decided") func aForwardedSendReadsBackAsDecided() async throws {
        var random = SplitMix(seed: 41)
        for profile in Self.profiles() {
            for number in 0..<300 {
                let (sender, recipient) = (Self.user(&random), Self.user(&random))
                let words = Platform.allCases.filter { profile.backend.pnsNames[$0.service] != nil }
                let pns = words.randomElement(using: &random)!
                let typed = random.text(upTo: 40)
                let gateway = gateway(profile, deciding: .notOwned)
                // The recipient as a client could spell it that knows the account's name, or that answers a sender.
                let name =
                    number.isMultiple(of: 2) ? Self.names.spellings(of: recipient)[0].text : recipient.text.uppercased()
                let spelled = name.utf8.map { String(format: "%%%02X", $0) }.joined()
                let response = await gateway.serve(
                    ReceivedRequest(
                        "POST \(profile.client.notificationsPath)?pns=\(Self.anyCase(pns.rawValue, &random))"
                            + "&to_tag=\(spelled)",
                        authorization: Self.token(sender), contentType: .text("application/json"),
                        body: try Self.json(typed), number: UInt64(number)))
                let cannot = pns.service == .wns && typed.unicodeScalars.contains(where: Self.isForeignToXML)
                if cannot {
                    #expect(response.code == .malformedMessage && gateway.backend.requests.isEmpty)
                    continue
                }
                #expect(response == Response(status: 200))
                let request = try #require(gateway.backend.requests.first)
                #expect(gateway.backend.requests.count == 1 && request.method == "POST")
                #expect(request.path == profile.backend.notificationsPath)
                #expect(request.values("Authorization") == Self.basic(sender))
                let query = try #require(request.query)
                #expect(query.map(\.name) == ["pns", "to_tag"])
                #expect(query.map(\.value) == [profile.backend.pnsNames[pns.service]?.text ?? "", recipient.text])
                let decoded = try #require(
                    try JSONSerialization.jsonObject(with: Data(request.body), options: .fragmentsAllowed) as? String)
                let facts = try #require(gateway.journal.records(.outcome).first?.facts)
                #expect(facts.user == sender && facts.recipient == recipient && facts.bytes == typed.utf8.count)
                for (service, before, after) in PastedPayload.frames where service == pns.service {
                    let read = DevicePayload.text(in: "\(before)From \(sender): \(decoded)\(after)")
                    #expect(read.map(Self.scalars) == Self.scalars("From \(sender): \(typed)"))
                }
            }
        }
    }

    /// The scalars without U+FEFF. Foundation's JSON parser takes that character for a byte order mark and drops it.
    private static func scalars(_ text: String) -> [UInt32] {
        text.unicodeScalars.map(\.value).filter { $0 != 0xFEFF }
    }

    private static func isForeignToXML(_ scalar: Unicode.Scalar) -> Bool {
        (scalar.value < 0x20 && ![9, 10, 13].contains(scalar.value)) || [0xFFFE, 0xFFFF].contains(scalar.value)
    }

    private static func handle(_ service: PushService, _ random: inout SplitMix) -> String {
        func letters(_ alphabet: String, _ count: ClosedRange<Int>) -> String {
            String((0..<Int.random(in: count, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
        }
        switch service {
        case .apns:
            let half = letters("0123456789abcdefABCDEF", 16...128)
            return half + half
        case .fcm: return "x" + letters("abcXYZ019_:-.", 16...200)
        case .wns:
            let pieces = ["%2b", "%2F", "%3d", "%41"] + "abcXYZ019&=;!$()*+,@/?:~._-".map(String.init)
            let text = (0..<Int.random(in: 0...200, using: &random)).map { _ in pieces.randomElement(using: &random)! }
            return "https://db5.notify.windows.com/?token=" + text.joined()
        case .mpns: return "http://sn1.notify.live.net/throttledthirdparty/" + letters("abcXYZ019/=-_", 1...100)
        }
    }
}
