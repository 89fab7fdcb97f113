import GatewaySupport
import Testing

@Suite struct ConfigurationReaderTests {
    private enum Colour: String, CaseIterable { case red, green }

    private func reader(_ text: String, _ problems: ConfigurationProblems) throws -> ConfigurationReader {
        ConfigurationReader(
            try YAMLDocument.parse(text, file: "gateway.yaml"), directory: "/etc/x", problems: problems)
    }

    private func problems(_ text: String, _ read: (ConfigurationReader) -> Void) throws -> [String] {
        let problems = ConfigurationProblems()
        read(try reader(text, problems))
        return problems.all.map(\.description)
    }

    @Test("The reader reads every kind of value") func theReaderReadsEveryKindOfValue() throws {
        let problems = ConfigurationProblems()
        let reader = try reader(
            """
            text: hello
            quoted: "12"
            yes: true
            number: 12
            colour: green
            list: [a, "b"]
            time: 1500ms
            file: users.yaml
            absolute: /users.yaml
            nothing:
            inner: { a: 1 }
            """, problems)
        #expect(reader.string("text") == "hello")
        #expect(reader.string("quoted") == "12")
        #expect(reader.bool("yes") == true)
        #expect(reader.integer("number", in: 1...12) == 12)
        #expect(reader.word("colour", of: Colour.self) == .green)
        #expect(reader.strings("list") == ["a", "b"])
        #expect(reader.duration("time", in: .zero ... .seconds(2)) == .milliseconds(1500))
        #expect(reader.path("file") == "/etc/x/users.yaml")
        #expect(reader.path("absolute") == "/users.yaml")
        #expect(reader.string("nothing") == nil)
        #expect(reader.has("nothing"))
        #expect(reader.string("absent") == nil)
        #expect(!reader.has("absent"))
        let inner = try #require(reader.mapping("inner"))
        #expect(inner.integer("a", in: 0...1) == 1)
        #expect(inner.path == "inner")
        inner.finish()
        reader.finish()
        #expect(problems.all.isEmpty)
    }

    @Test("A problem has a message and a location") func aProblemHasAMessageAndALocation() throws {
        let problems = try problems(
            """
            list: 12
            number: 1x
            big: 99999999999999999999
            quoted: "12"
            flag: yes
            colour: blue
            time: 5 minutes
            late: 2h
            empty: ""
            text: [a]
            inner: x
            items:
              - a
              - [b]
            unknown: 1
            """
        ) { reader in
            _ = reader.strings("list")
            _ = reader.integer("number", in: 1...5)
            _ = reader.integer("big", in: 1...5)
            _ = reader.integer("quoted", in: 1...50)
            _ = reader.bool("flag")
            _ = reader.word("colour", of: Colour.self)
            _ = reader.duration("time", in: .zero ... .seconds(60))
            _ = reader.duration("late", in: .seconds(1) ... .seconds(3600))
            _ = reader.required("empty")
            _ = reader.required("missing")
            _ = reader.string("text")
            _ = reader.mapping("inner")?.string("a")
            _ = reader.strings("items")
            reader.finish()
        }
        #expect(
            problems == [
                "gateway.yaml:1:7: list: must be a list",
                "gateway.yaml:2:9: number: must be a whole number from 1 to 5",
                "gateway.yaml:3:6: big: must be a whole number from 1 to 5",
                "gateway.yaml:4:9: quoted: must be a whole number from 1 to 50",
                "gateway.yaml:5:7: flag: must be true or false",
                "gateway.yaml:6:9: colour: \"blue\" is not one of: red, green",
                "gateway.yaml:7:7: time: \"5 minutes\" is not a time; write a number and ms, s, min, h or d, such as 30s",
                "gateway.yaml:8:7: late: must be from 1s to 1h",
                "gateway.yaml:9:8: empty: must not be empty",
                "gateway.yaml:1:1: \"missing\" is missing",
                "gateway.yaml:10:7: text: must be text",
                "gateway.yaml:11:8: inner: must be a mapping of names to values",
                "gateway.yaml:14:5: items[1]: must be text",
                "gateway.yaml:15:1: unknown: is not a known key; known keys: big, colour, empty, flag, inner, items, late, "
                    + "list, missing, number, quoted, text, time",
            ])
    }

    @Test("A warning is marked as a warning") func aWarningIsMarkedAsAWarning() throws {
        let problems = try problems("a: 1\nb: 2") { reader in
            reader.report("b", "is brave", severity: .warning)
            reader.report("all of it")
        }
        #expect(problems == ["gateway.yaml:2:4: warning: b: is brave", "gateway.yaml:1:1: all of it"])
    }

    @Test("A mapping with free names keeps its order") func aMappingWithFreeNamesKeepsItsOrder() throws {
        let problems = ConfigurationProblems()
        let reader = try reader("{ zoe: 1, adam: 2,\n eve: 3 }", problems)
        #expect(reader.allEntries().map(\.name) == ["zoe", "adam", "eve"])
        reader.finish()
        #expect(problems.all.isEmpty)
    }

    @Test("An empty file is an empty mapping") func anEmptyFileIsAnEmptyMapping() throws {
        for text in ["", "# nothing\n", "~", "---\n"] {
            let problems = ConfigurationProblems()
            let reader = try reader(text, problems)
            #expect(reader.string("a") == nil)
            reader.finish()
            #expect(problems.all.isEmpty)
        }
        #expect(try problems("[a]") { $0.finish() } == ["gateway.yaml:1:1: must be a mapping of names to values"])
    }

    @Test(
        "A duration is parsed and formatted",
        arguments: [
            ("0s", Duration.zero, "0d"), ("250ms", .milliseconds(250), "250ms"), ("1000ms", .seconds(1), "1s"),
            ("90s", .seconds(90), "90s"), ("2m", .seconds(120), "2min"), ("2min", .seconds(120), "2min"),
            ("60min", .seconds(3600), "1h"), ("36h", .seconds(129_600), "36h"), ("30d", .seconds(2_592_000), "30d"),
        ])
    func durations(_ text: String, _ duration: Duration, _ configured: String) {
        #expect(Duration(configured: text) == duration)
        #expect(duration.configured == configured)
    }

    @Test(
        "An invalid duration is rejected",
        arguments: [
            "", "s", "5", "-5s", "+5s", "5 s", "5.5s", "5S", "5sec", "5s ", "٥s", "99999999999999999999s",
            "9223372036854775807d", "1e3s", "5\u{301}s",
        ])
    func anInvalidDurationIsRejected(_ text: String) {
        #expect(Duration(configured: text) == nil)
    }
}
