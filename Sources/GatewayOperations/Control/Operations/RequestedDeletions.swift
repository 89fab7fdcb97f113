internal import GatewayCore
internal import GatewaySupport

/// The deletions at the backend that an operator allows an import or a reconciliation: their kinds and their number.
struct RequestedDeletions: Sendable {
    /// The names of the operation's arguments that the deletions come from.
    static let arguments: Set<String> = ["delete", "confirmed", "all"]

    /// The kinds of registrations that are deleted.
    let kinds: DeletedKinds
    private let confirmed: Int
    private let isUnlimited: Bool

    /// Reads the arguments of an operation.
    init(_ arguments: ControlArguments, includingHarmful: Bool) throws(ControlError) {
        var named: Set<ExportValidator.Fault> = []
        for name in try arguments.texts("delete") {
            guard let kind = ExportValidator.Fault.allCases.first(where: { $0.deletionName == name }) else {
                let names = ExportValidator.Fault.allCases.compactMap(\.deletionName).joined(separator: ", ")
                throw .malformed("delete contains a kind that does not exist. The kinds are: \(names).")
            }
            named.insert(kind)
        }
        kinds = DeletedKinds(includesHarmful: includingHarmful, named: named)
        confirmed = try arguments.number("confirmed", in: 0...1_000_000_000) ?? 0
        isUnlimited = try arguments.flag("all")
    }

    /// Throws if the operator has not confirmed as many deletions, or if they are more than a tenth of all registrations
    /// and the operator has not allowed that.
    ///
    /// - Parameters:
    ///   - counts: The numbers of deletions, by reason.
    ///   - total: The number of all registrations.
    func check(
        _ counts: [String: Int], of total: Int, in context: ControlContext
    ) async throws(ControlError) {
        let count = counts.values.reduce(0, +)
        let reasons = Self.summary(counts)
        guard isUnlimited || count <= total / Self.share + (total % Self.share == 0 ? 0 : 1) else {
            throw .refused(
                "\(count) of \(total) registrations would be deleted (\(reasons)), more than a tenth. Nothing was "
                    + "changed. Check the list of a run without deletions; then --all (\"all\" in the operator API) "
                    + "allows more.")
        }
        guard kinds.named.isEmpty || count <= confirmed else {
            try await context.send(
                totals: .object([
                    .init("planned", .number(String(count))), .init("registrations", .number(String(total))),
                ]))
            throw .refused(
                "\(count) of \(total) registrations would be deleted (\(reasons)). Nothing was changed. Confirm that "
                    + "with --yes (\"confirmed\" in the operator API).")
        }
    }

    /// The part of all registrations, as a divisor, beyond which deletions need `all`.
    private static let share = 10

    /// Returns the numbers with their reasons, in the order of the reasons.
    static func summary(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}
