import Testing

@testable import NotifyBackend

@Suite struct TagExpressionTests {
    private func matches(_ expression: String, _ tags: Set<String>) throws -> Bool {
        try TagExpression(parsing: expression).matches(tags)
    }

    @Test(
        "An expression matches a set of tags",
        arguments: [
            ("a", true), ("b", false), ("A", true), ("a||b", true), ("b||a", true), ("b || c", false), ("a&&b", false),
            ("a&&c2", true), ("!b", true), ("!a", false), ("!!a", true), ("x||!y", true), ("a&&!c2", false),
            ("b||a&&c2", true), ("(b||a)&&b", false), ("a||b&&b", true), ("((a))", true), ("!(b||x)", true),
            ("!(a&&c2)||b", false), ("username:bob", true), ("!b&&!x", true), ("$UserId:{bob}", true),
            ("$UserId:{eve}", false), (" a\t|| b ", true),
        ])
    func evaluates(_ expression: String, _ expected: Bool) throws {
        #expect(try matches(expression, ["a", "c2", "username:bob", "$userid:{bob}"]) == expected)
    }

    @Test(
        "A malformed expression is rejected",
        arguments: [
            "", " ", "()", "(", ")", "(a", "a)", "a b", "a|b", "a|", "a||", "||a", "a&&", "a&b", "!", "a!", "a!b",
            "a(b)",
            "a,b", "é", "a'b", "a;b", "a\n||b", "$", "$x", "${}x", "$UserId:{a b}", "a\0", "(a||b))", "a||()",
        ])
    func refusesMalformed(_ expression: String) {
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: expression) }
    }

    @Test("The number of tags in an expression is bounded") func theNumberOfTagsInAnExpressionIsBounded() throws {
        let tags = { (count: Int) in (0..<count).map { "t\($0)" } }
        #expect(try matches(tags(20).joined(separator: "||"), ["t19"]))
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: tags(21).joined(separator: "||")) }
        #expect(try matches(tags(6).joined(separator: "&&"), Set(tags(6))))
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: tags(7).joined(separator: "&&")) }
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: "!" + tags(7).joined(separator: "||")) }
    }

    @Test("The length of a tag in an expression is bounded") func theLengthOfATagInAnExpressionIsBounded() throws {
        #expect(try matches(String(repeating: "a", count: 120), [String(repeating: "a", count: 120)]))
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: String(repeating: "a", count: 121)) }
    }

    @Test("Deep nesting does not overflow the stack") func deepNestingDoesNotOverflowTheStack() throws {
        let deep = 200_000
        let open = String(repeating: "(", count: deep)
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: open) }
        #expect(throws: HubFailure.badRequest) {
            try TagExpression(parsing: open + "a" + String(repeating: ")", count: deep))
        }
        #expect(throws: HubFailure.badRequest) { try TagExpression(parsing: String(repeating: "!", count: deep) + "a") }
        #expect(throws: HubFailure.badRequest) {
            try TagExpression(parsing: String(repeating: "a||", count: deep) + "a")
        }
        let allowed = TagExpression.maximumDepth
        let nested = String(repeating: "(", count: allowed) + "a" + String(repeating: ")", count: allowed)
        #expect(try matches(nested, ["a"]))
    }

    @Test("Every short text is rejected or parsed into a valid expression")
    func everyShortTextIsRejectedOrParsedIntoAValidExpression() {
        let alphabet = ["a", "!", "(", ")", "&&", "||", "&", "|", "$", "{", "}", " ", "é"]
        var texts = [""]
        for _ in 0..<4 { texts = texts.flatMap { text in alphabet.map { text + $0 } } }
        var accepted = 0
        for text in texts {
            guard let expression = try? TagExpression(parsing: text) else { continue }
            accepted += 1
            // The postfix order must leave exactly one value.
            let depth = expression.steps.reduce(0) { depth, step in
                switch step {
                case .tag: depth + 1
                case .not: depth
                case .and, .or: depth - 1
                }
            }
            #expect(depth == 1, "\(text)")
        }
        #expect(accepted > 0)
    }
}
