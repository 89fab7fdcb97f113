import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

/// The cases of JSONTestSuite (Nicolas Seriot, MIT). The suite needs the corpus beside the package.
@Suite(.enabled(if: !TestData.jsonTestSuite.isEmpty, "JSONTestSuite is not beside the package"))
struct JSONSuiteTests {
    /// The valid cases that the parser rejects because a member name occurs twice.
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

    @Test("Every valid case is accepted, except those with duplicate names")
    func everyValidCaseIsAcceptedExceptThoseWithDuplicateNames() throws {
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

    @Test("Every invalid case is rejected") func everyInvalidCaseIsRejected() throws {
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
    @Test("Naughty strings survive writing and parsing") func naughtyStringsSurviveWritingAndParsing() throws {
        for text in TestData.naughtyStrings {
            let bytes = JSONWriter.bytes(of: .string(text))
            #expect(try JSONParser().parse(bytes.span) == .string(text))
            #expect((try? JSONDecoder().decode([String].self, from: Data("[".utf8 + bytes + "]".utf8))) == [text])
        }
    }
}
