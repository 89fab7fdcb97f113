import Foundation
import GatewayCore
import GatewayTesting
import Testing

/// The cases of JSONTestSuite (Nicolas Seriot, MIT), where they are present.
@Suite(.enabled(if: !TestData.jsonTestSuite.isEmpty, "JSONTestSuite is not beside the package"))
struct JSONSuiteTests {
    /// Valid JSON that our shape forbids: names that stand twice.
    private static let forbiddenByShape: Set<String> = [
        "y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json",
    ]

    private func files(_ prefix: String) -> [URL] {
        TestData.jsonTestSuite.filter { $0.lastPathComponent.hasPrefix(prefix) }
    }

    private func parse(_ file: URL) throws -> (Result<JSONValue, JSONParser.Fault>, Duration) {
        let bytes = Array(try Data(contentsOf: file))
        let parser = JSONParser(depthLimit: 512, memberLimit: 1_000_000)
        var result = Result<JSONValue, JSONParser.Fault>.failure(.tooLarge)
        let time = cpuTime {
            do throws(JSONParser.Fault) { result = .success(try parser.parse(bytes.span)) } catch {
                result = .failure(error)
            }
        }
        return (result, time)
    }

    @Test func acceptsWhatMustBeAccepted() throws {
        let files = files("y_")
        #expect(files.count == 95)
        for file in files {
            let name = file.lastPathComponent
            let (result, time) = try parse(file)
            #expect(time < .milliseconds(50), "\(name)")
            switch result {
            case .success: #expect(!Self.forbiddenByShape.contains(name), "\(name)")
            case .failure(.duplicateName): #expect(Self.forbiddenByShape.contains(name), "\(name)")
            case .failure(let fault): Issue.record("\(name): \(fault)")
            }
        }
    }

    @Test func refusesWhatMustBeRefused() throws {
        let files = files("n_")
        #expect(files.count == 188)
        for file in files {
            let (result, time) = try parse(file)
            #expect(time < .milliseconds(50), "\(file.lastPathComponent)")
            if case .success = result { Issue.record("\(file.lastPathComponent) was accepted") }
        }
    }
}

@Suite(.enabled(if: !TestData.naughtyStrings.isEmpty, "the Big List of Naughty Strings is not beside the package"))
struct NaughtyStringTests {
    @Test func surviveBeingWrittenAndRead() throws {
        for text in TestData.naughtyStrings {
            let bytes = JSONWriter.bytes(of: .string(text))
            #expect(try JSONParser().parse(bytes.span) == .string(text))
            #expect((try? JSONDecoder().decode([String].self, from: Data("[".utf8 + bytes + "]".utf8))) == [text])
        }
    }

    @Test func haveACanonicalNameWithinTheAlphabetOrNone() {
        for text in TestData.naughtyStrings {
            for rules in [NameRules(), NameRules(escaping: .hex)] {
                if let user = rules.canonical(text) { #expect(UserName(canonical: user.text) == user) }
            }
        }
    }
}
