import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Testing

@Suite("README of hmac-token")
struct ReadmeTests {
    @Test("The example loads, and tokens that it issues are accepted")
    func example() async throws {
        let readme = try PluginReadme()
        try #require(readme.examples.count == 2)
        let files = try TestFiles()
        // The gateway rejects the example as printed, because its secrets are placeholders. With a secret for each
        // placeholder the file is valid.
        let example = readme.examples[1]
        let placeholder = "<openssl rand -base64 48>"
        #expect(example.components(separatedBy: placeholder).count == 4)
        try files.write(example)
        let refused = try readme.settings(of: HMACTokenPlugin.self, directory: files.path)
        #expect(await HMACTokenPlugin.problems(in: refused, context: .test()).count == 3)
        var filled = example
        while let place = filled.range(of: placeholder) {
            let bytes = (0..<48).map { _ in UInt8.random(in: .min ... .max) }
            filled.replaceSubrange(place, with: Data(bytes).base64EncodedString())
        }
        try files.write(filled)
        let settings = try readme.settings(of: HMACTokenPlugin.self, directory: files.path)
        #expect(await HMACTokenPlugin.problems(in: settings, context: .test()) == [])
        let alice = try #require(UserName(canonical: "alice"))
        let issued = try TokenSigner(settings).issue(subject: alice, now: WallTime.test)
        #expect(issued.key == "k2")
        let text = issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let authenticator = try await HMACTokenPlugin.makeAuthenticator(settings, context: .test())
        #expect(await authenticator.present(text) == identity("alice"))
    }
}
