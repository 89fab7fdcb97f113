import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@Suite("Files that may be in the middle of a write")
struct FileSettlingTests {
    private let files: TestFiles
    private let path: String

    init() throws {
        files = try TestFiles()
        try files.write("", to: "users.yaml")
        path = files.path + "/users.yaml"
    }

    /// Returns the number of looks until the file counts; nil if none of 3,000 looks makes it count.
    private func looks(_ version: (Int) -> FileVersion?, losses: Int) -> Int? {
        var settling = FileSettling()
        for look in 1...3000 where settling.counts(version(look), losses: losses) { return look }
        return nil
    }

    @Test(
        "A file counts after one equal look more than entries lose something",
        arguments: [(0, 1), (1, 3), (3, 5), (99, 17)])
    func equal(_ losses: Int, _ expected: Int) {
        let version = FileVersion(of: path, text: "a")
        #expect(looks({ _ in version }, losses: losses) == expected)
    }

    @Test("A file that differs at each look counts after ten minutes, and an invalid one never does")
    func rewritten() {
        #expect(looks({ FileVersion(of: path, text: "\($0)") }, losses: 1) == FileSettling.maximumValidLooks)
        #expect(looks({ _ in nil }, losses: 1) == nil)
    }

    @Test("An invalid look lets the equal ones begin anew, and the number of looks does not fall")
    func interrupted() {
        let version = FileVersion(of: path, text: "a")
        #expect(looks({ $0 == 3 ? nil : version }, losses: 2) == 7)
        var settling = FileSettling()
        let counts = settling.counts(version, losses: 5)
        #expect(!counts)
        let later = FileVersion(of: path, text: "b")
        var waited = 1
        while !settling.counts(later, losses: 1) { waited += 1 }
        #expect(waited == 7)
    }
}
