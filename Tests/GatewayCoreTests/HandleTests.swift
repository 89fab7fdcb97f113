import GatewayCore
import Testing

@Suite struct HandleTests {
    let rules = HandleRules()

    private func fault(_ text: String, of service: PushService) -> DeviceHandle.Fault? {
        do throws(DeviceHandle.Fault) {
            _ = try rules.handle(text, of: service)
            return nil
        } catch {
            return error
        }
    }

    @Test("An APNs handle is converted to upper case", arguments: [32, 64, 512])
    func anAPNsHandleIsConvertedToUpperCase(_ count: Int) throws {
        let handle = try rules.handle(String(repeating: "aB", count: count / 2), of: .apns)
        #expect(handle.text == String(repeating: "AB", count: count / 2))
        #expect(handle.service == .apns)
    }

    @Test("An APNs handle of another length is rejected", arguments: [0, 1, 30, 31, 33, 63, 513, 514])
    func anAPNsHandleOfAnotherLengthIsRejected(_ count: Int) {
        #expect(fault(String(repeating: "a", count: count), of: .apns) == .malformed(.apns))
    }

    @Test(
        "An APNs handle with a character that is no hexadecimal digit is rejected",
        arguments: ["g", " ", "\u{0}", "'", "é", "\u{FF21}"])
    func apnsHandlesHaveOnlyHexadecimalDigits(_ foreign: String) {
        #expect(fault(String(repeating: "a", count: 31) + foreign, of: .apns) == .malformed(.apns))
        #expect(fault(String(repeating: "a", count: 32) + foreign, of: .apns) == .malformed(.apns))
    }

    @Test(
        "The printed description of a token gets its own fault",
        arguments: [
            "{length=32,bytes=0x0102030405060708}", "{LENGTH=32,BYTES=0X010203}", "(null)", "<0102 0304>", "{", "(",
        ])
    func thePrintedDescriptionOfATokenGetsItsOwnFault(_ text: String) {
        for service in PushService.allCases { #expect(fault(text, of: service) == .descriptionOfAToken) }
        #expect(throws: DeviceHandle.Fault.descriptionOfAToken) { try rules.handleOfUnnamedService(text) }
    }

    @Test("An FCM handle keeps its case") func anFCMHandleKeepsItsCase() throws {
        let text = "fcm_Tok-en:APA91bHun4MxP5egoKMwt2KZFBaFUH."
        #expect(try rules.handle(text, of: .fcm).text == text)
        #expect(try rules.handle(String(repeating: "x", count: 16), of: .fcm).service == .fcm)
        #expect(try rules.handle(String(repeating: "x", count: 4096), of: .fcm).service == .fcm)
    }

    @Test(
        "An FCM handle that violates its grammar is rejected",
        arguments: [
            "", "fifteen-bytes-x", String(repeating: "x", count: 4097), "sixteen bytes ok", "sixteen'bytes-ok",
            "sixteen+bytes-ok", "sixteen/bytes-ok", "sixteen%bytes-ok", "sixteen\u{0}bytes-ok", "sixteen,bytes-ok",
            "séxteen-bytes-ok",
        ])
    func anFCMHandleThatViolatesItsGrammarIsRejected(_ text: String) {
        #expect(fault(text, of: .fcm) == .malformed(.fcm))
    }

    @Test(
        "The scheme and host of a channel URI are converted to lower case",
        arguments: [
            (
                "https://db5.notify.windows.com/?token=AwYAAAB%2b8dz%2f&x=1",
                "https://db5.notify.windows.com/?token=AwYAAAB%2b8dz%2f&x=1"
            ),
            ("HTTPS://DB5.Notify.Windows.COM/Path?T=A", "https://db5.notify.windows.com/Path?T=A"),
            ("https://a.b.notify.windows.com", "https://a.b.notify.windows.com/"),
            ("https://db5.notify.windows.com:8443/x", "https://db5.notify.windows.com:8443/x"),
        ])
    func theSchemeAndHostOfAChannelURIAreConvertedToLowerCase(_ text: String, _ canonical: String) throws {
        #expect(try rules.handle(text, of: .wns).text == canonical)
    }

    @Test(
        "Channel URIs that differ only in percent-encoding are one handle in the form that WNS issues",
        arguments: [
            ("/?token=AwY%2B8dz%2F", "/?token=AwY%2b8dz%2f"), ("/?t%6Fken=%41wY", "/?token=AwY"),
            ("/?token=AB%3D%3D", "/?token=AB%3d%3d"), ("/?token=AB==", "/?token=AB%3d%3d"),
            ("/?token=a/b:c", "/?token=a%2fb%3ac"), ("/?token=a+b", "/?token=a+b"), ("/?token=a%20b", "/?token=a%20b"),
            ("?token=a", "/?token=a"), ("/?", "/?"), ("/?a&b=&c=d", "/?a&b=&c=d"), ("/?a=b?c", "/?a=b%3fc"),
            ("/./?token=a", "/?token=a"), ("/%2E/?token=a", "/?token=a"), ("/x/../?token=a", "/?token=a"),
            ("/../../a/./b/..", "/a/"), ("/a%2Fb", "/a%2fb"), ("/a//b/", "/a//b/"), ("/%7Ea%2db", "/~a-b"),
        ])
    func oneFormOfEachChannel(_ target: String, _ canonical: String) throws {
        let host = "https://db5.notify.windows.com"
        let handle = try rules.handle(host + target, of: .wns)
        #expect(handle.text == host + canonical)
        #expect(try rules.handle(handle.text, of: .wns) == handle)
        // The former texts contain the form that an earlier version stored for this client.
        #expect(handle.text == host + target || handle.formerTexts.contains(host + target))
    }

    @Test("Channel URIs that only look alike are different handles")
    func differentChannels() throws {
        let targets = [
            "/?token=a%2bb", "/?token=a+b", "/?token=ab", "/?token=a&b", "/?token=a%26b", "/a/b", "/a%2fb", "/A/b",
        ]
        let handles = try targets.map { try rules.handle("https://db5.notify.windows.com" + $0, of: .wns) }
        #expect(Set(handles).count == targets.count)
        #expect(Set(handles.map(\.text)).count == targets.count)
    }

    @Test("A channel URI with an incomplete percent escape is rejected", arguments: ["%", "%4", "%zz", "a%2", "%%41"])
    func brokenEscapes(_ text: String) {
        #expect(fault("https://db5.notify.windows.com/?token=" + text, of: .wns) == .malformed(.wns))
        #expect(fault("https://db5.notify.windows.com/" + text, of: .wns) == .malformed(.wns))
    }

    @Test("The default port of the scheme does not change the channel")
    func theDefaultPortOfTheSchemeDoesNotChangeTheChannel() throws {
        let plain = try rules.handle("https://db5.notify.windows.com/x", of: .wns)
        #expect(try rules.handle("https://db5.notify.windows.com:443/x", of: .wns) == plain)
        #expect(try rules.handle("https://db5.notify.windows.com:0443/x", of: .wns) == plain)
        #expect(
            try rules.handle("http://sn1.notify.live.net:80/x", of: .mpns)
                == rules.handle("http://sn1.notify.live.net/x", of: .mpns))
        #expect(
            try rules.handle("http://sn1.notify.live.net:443/x", of: .mpns)
                != rules.handle("http://sn1.notify.live.net/x", of: .mpns))
    }

    @Test(
        "A channel URI with a foreign host is rejected",
        arguments: [
            "https://notify.windows.com/x", "https://.notify.windows.com/x", "https://evil.example/x",
            "https://xnotify.windows.com/", "https://db5.notify.windows.com.evil.example/x", "https://127.0.0.1/x",
            "https://db5.notify.windows.com./x", "https://evil.example?.notify.windows.com/",
        ])
    func aChannelURIWithAForeignHostIsRejected(_ text: String) {
        #expect(fault(text, of: .wns) == .foreignHost)
    }

    @Test(
        "A channel URI that violates its grammar is rejected",
        arguments: [
            "", "x", "https:", "https://", "https:///x", "http://db5.notify.windows.com/x",
            "ftp://db5.notify.windows.com/x",
            "//db5.notify.windows.com/x", "https://user@db5.notify.windows.com/x",
            "https://db5.notify.windows.com@evil/x",
            "https://evil.example\\.notify.windows.com/x", "https://evil.example#.notify.windows.com/x",
            "https://db5.notify.windows.com/x'y", "https://db5.notify.windows.com/x y",
            "https://db5.notify.windows.com/\u{0}",
            "https://db5.notify.windows.com/\n", "https://db5.notify.windows.com/é",
            "https://db5.notify.windows.com/\u{7F}",
            "https://db5.notify.windows.com:/x", "https://db5.notify.windows.com:123456/x",
            "https://db5.notify.windows.com:8a/x", "https://[::1].notify.windows.com/x",
            "https://%65.notify.windows.com/x",
            "https://db5.notify.windows.com/" + String(repeating: "x", count: 2048),
        ])
    func aChannelURIThatViolatesItsGrammarIsRejected(_ text: String) {
        #expect(fault(text, of: .wns) == .malformed(.wns))
    }

    @Test("An MPNS channel may use http, and needs a host of MPNS")
    func anMPNSChannelMayUseHttpAndNeedsAHostOfMPNS() throws {
        #expect(try rules.handle("http://sn1.notify.live.net/x", of: .mpns).service == .mpns)
        #expect(try rules.handle("https://sn1.notify.live.net/x", of: .mpns).service == .mpns)
        #expect(fault("https://db5.notify.windows.com/x", of: .mpns) == .foreignHost)
        #expect(fault("https://sn1.notify.live.net/x", of: .wns) == .foreignHost)
    }

    @Test("The operator configures the channel hosts") func theOperatorConfiguresTheChannelHosts() throws {
        let rules = HandleRules(wnsHosts: ["Push.Example"], mpnsHosts: [])
        #expect(try rules.handle("https://push.example/x", of: .wns).text == "https://push.example/x")
        #expect(throws: DeviceHandle.Fault.foreignHost) { try rules.handle("https://a.push.example/x", of: .wns) }
        #expect(throws: DeviceHandle.Fault.foreignHost) { try rules.handle("https://sn1.notify.live.net/x", of: .mpns) }
    }

    @Test("The service of a handle without a platform follows from its text")
    func theServiceOfAHandleWithoutAPlatformFollowsFromItsText() throws {
        let digits = String(repeating: "aB", count: 16)
        #expect(try rules.handleOfUnnamedService(digits).service == .apns)
        // An odd number of hexadecimal digits is a malformed APNs token, and never an FCM token.
        #expect(throws: DeviceHandle.Fault.malformed(.apns)) { try rules.handleOfUnnamedService(digits + "a") }
        #expect(try rules.handleOfUnnamedService(digits + "g").service == .fcm)
        #expect(try rules.handleOfUnnamedService("https://db5.notify.windows.com/x").service == .wns)
        #expect(try rules.handleOfUnnamedService("http://sn1.notify.live.net/x").service == .mpns)
        #expect(throws: DeviceHandle.Fault.foreignHost) { try rules.handleOfUnnamedService("https://evil.example/x") }
    }

    @Test("Equal texts of two services are different handles")
    func equalTextsOfTwoServicesAreDifferentHandles() throws {
        let digits = String(repeating: "AB", count: 16)
        #expect(try rules.handle(digits, of: .apns) != rules.handle(digits, of: .fcm))
    }

    @Test("Every fault of a handle has a hint") func everyFaultOfAHandleHasAHint() {
        for service in PushService.allCases { #expect(!DeviceHandle.Fault.malformed(service).hint.isEmpty) }
        #expect(!DeviceHandle.Fault.descriptionOfAToken.hint.isEmpty)
        #expect(!DeviceHandle.Fault.foreignHost.hint.isEmpty)
    }
}
