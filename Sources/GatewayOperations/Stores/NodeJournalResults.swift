package import GatewayStore
package import GatewaySupport

// The results for other nodes' journals as members of a JSON object, for commands and the operator API.
extension NodeJournalVerification.Result {
    /// The result as an object.
    package var item: JSONValue {
        var members: [JSONValue.Member] = [
            .init("node", .string(node)), .init("host", .string(host)), .init("first", .number("\(first)")),
            .init("last", .number("\(last)")), .init("recorded_heads_match", .number("\(matches)")),
            .init("recorded_heads_removed", .number("\(removed)")),
        ]
        if let verifiedLines { members.append(.init("verified_lines", .number("\(verifiedLines)"))) }
        if let finding { members.append(.init("what", .string(finding))) }
        return .object(members)
    }
}
