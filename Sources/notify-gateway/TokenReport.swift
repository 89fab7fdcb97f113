import GatewayCore
import GatewaySupport

/// The content of a token and the result of its verification, as JSON and as rows.
struct TokenReport {
    let lookup: TokenLookup
    private var inspection: TokenInspection { lookup.inspection }

    init(_ lookup: TokenLookup) { self.lookup = lookup }

    /// The complete result as one object.
    var object: JSONValue {
        .object([
            .init("header", inspection.header ?? .null), .init("claims", inspection.claims ?? .null),
            .init("result", .object(result)),
        ])
    }

    /// The rows: one for each member of header, claims and result.
    var rows: [JSONValue] {
        rows(of: inspection.header, "header") + rows(of: inspection.claims, "claims")
            + rows(of: .object(result), "result")
    }

    private var result: [JSONValue.Member] {
        let verdict: [JSONValue.Member] =
            switch inspection.result {
            case .valid(let identity):
                [
                    .init("good", .bool(true)), .init("user", .string(identity.user.text)),
                    .init("groups", .array(identity.groups.map(\.text).sorted().map(JSONValue.string))),
                ]
            case .invalid(let reason, let detail):
                [
                    .init("good", .bool(false)), .init("reason", .string(reason.rawValue)),
                    .init("detail", .string(detail)),
                ]
            case .undecided(let reason, let detail):
                [
                    .init("good", .null), .init("reason", .string(reason.rawValue)), .init("detail", .string(detail)),
                ]
            }
        return verdict + (lookup.authenticator.map { [.init("authenticator", .string($0.text))] } ?? [])
    }

    private func rows(of value: JSONValue?, _ part: String) -> [JSONValue] {
        guard case .object(let members)? = value else { return [] }
        return members.map { member in
            .object([
                .init("part", .string(part)), .init("name", .string(member.name)),
                .init("value", Self.isTime(member, part) ? Self.withDate(member.value) : member.value),
            ])
        }
    }

    private static func isTime(_ member: JSONValue.Member, _ part: String) -> Bool {
        part == "claims" && ["exp", "iat", "nbf"].contains(member.name)
    }

    /// Returns a NumericDate (RFC 7519, section 2) with its date appended, if its year has at most four digits.
    private static func withDate(_ value: JSONValue) -> JSONValue {
        guard let seconds = value.integer, (0...253_402_300_799).contains(seconds) else { return value }
        return .string("\(seconds) (\(WallTime(seconds: seconds).inSeconds))")
    }
}
