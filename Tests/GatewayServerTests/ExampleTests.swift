import Foundation
import GatewayCore
import HMACToken
import StaticUsers
import Testing

@testable import GatewayServer

@Suite("The examples that ship")
struct ExampleTests {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "deploy/examples")

    private static func files(_ folder: URL) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return names.filter { $0.hasSuffix(".yaml") }.sorted().map { folder.appending(path: $0) }
    }

    private static func errors(in file: URL) throws -> [String] {
        ConfigurationFile.read(
            try String(contentsOf: file, encoding: .utf8), file: file.lastPathComponent, directory: folder.path(),
            catalog: PluginCatalog([StaticUsersPlugin.self, HMACTokenPlugin.self]),
            environment: ["BACKEND_PASSWORD": "example", "BACKEND_SECRET": "example"]
        ).problems.filter { $0.severity == .error }.map(\.description)
    }

    @Test("Each loads")
    func valid() throws {
        let files = Self.files(Self.folder)
        #expect(files.count >= 3)
        for file in files { #expect(try Self.errors(in: file) == [], "\(file.lastPathComponent)") }
    }

    @Test("Each that shows a mistake is refused")
    func invalid() throws {
        let files = Self.files(Self.folder.appending(path: "invalid"))
        #expect(files.count >= 3)
        for file in files { #expect(try !Self.errors(in: file).isEmpty, "\(file.lastPathComponent)") }
    }
}
