internal import Charts
internal import GatewayCore
internal import GatewaySupport
internal import Hummingbird

/// The page of who notified whom: a matrix and a graph of users, which lead to the calls.
struct PairPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    /// Returns the groups that a user's accounts have now; nil if they are unknown.
    let groups: @Sendable (UserName) -> Set<GroupName>?

    /// The maximum number of pairs that are drawn.
    private static let drawnPairs = 1000
    /// The maximum number of rows of the table.
    private static let listedPairs = 200

    /// Shows the pairs.
    func pairs(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let query = try request.query()
        let times = [("since", query["since"].map(CallPages.time)), ("until", query["until"].map(CallPages.time))]
        let group = query["group"].flatMap { $0.isEmpty ? nil : $0 }
        // Groups are not recorded, so that the filter needs all pairs.
        let limit = group == nil ? Self.drawnPairs : 5000
        let found = try await queries.perform(
            "statistics pairs",
            [("user", query["user"]), ("result", query["result"]), ("limit", "\(limit)")] + times,
            by: context.requester())
        let all = (found?["pairs"]?.items ?? []).map(Pair.init)
        let pairs = group.map { name in all.filter { isMember($0, of: name) } } ?? all
        let given = times + [("result", Self.callResult(query["result"]))]
        let links = PairLinks(
            pair: { ConsoleLinks.path("/calls", [("from", $0), ("to", $1)] + given) }, user: { ConsoleLinks.user($0) })
        let counts = pairs.prefix(Self.drawnPairs).map(\.chart)
        return renderer.page(
            "pairs", title: "Who notified whom", for: user,
            [
                "filterUser": query["user"] ?? "", "filterGroup": group ?? "", "since": query["since"] ?? "",
                "until": query["until"] ?? "", "results": Self.results(query["result"]),
                "isEmpty": pairs.isEmpty, "summary": Self.summary(found, pairs, isFiltered: group != nil),
                "matrix": MatrixChart(counts, links: links).responsive(
                    id: "matrix", title: "Who notified whom, as a matrix"),
                "graph": GraphChart(counts, links: links).responsive(
                    id: "graph", title: "Who notified whom, as a graph"),
                "rows": pairs.prefix(Self.listedPairs).map { $0.row(links) },
            ])
    }

    private func isMember(_ pair: Pair, of group: String) -> Bool {
        guard let group = GroupName(group) else { return false }
        return [pair.from, pair.to].contains { name in
            guard let user = name.flatMap(UserName.init(canonical:)) else { return false }
            return groups(user)?.contains(group) ?? false
        }
    }

    /// The sends of one sender to one recipient.
    private struct Pair {
        let from: String
        /// The recipient; nil for sends without a single one.
        let to: String?
        let accepted: Int
        let failed: Int
        let refused: Int
        let last: String?

        init(_ item: JSONValue) {
            from = item["from"]?.string ?? ""
            to = item["to"]?.string
            accepted = Int(item["accepted"]?.integer ?? 0)
            failed = Int(item["failed"]?.integer ?? 0)
            refused = Int(item["refused"]?.integer ?? 0)
            last = item["last"]?.string
        }

        var sends: Int { accepted + failed + refused }

        var chart: PairCount {
            PairCount(sender: from, recipient: to ?? "(no recipient)", sends: sends, refused: refused)
        }

        func row(_ links: PairLinks) -> PageModel {
            var row: PageModel = [
                "from": from, "fromHref": ConsoleLinks.user(from), "to": to ?? "(no recipient)",
                "count": PageValues.number(sends), "refused": PageValues.number(refused),
                "failed": PageValues.number(failed), "last": PageValues.time(last),
                "href": to.flatMap { links.pair(from, $0) } ?? ConsoleLinks.path("/calls", [("from", from)]),
            ]
            if let to { row["toHref"] = ConsoleLinks.user(to) }
            return row
        }
    }

    /// Returns the choices of results.
    private static func results(_ chosen: String?) -> [PageModel] {
        [("", "all"), ("accepted", "accepted"), ("failed", "failed"), ("refused", "refused")].map { name, label in
            ["name": name, "label": label, "isChosen": name == chosen ?? ""]
        }
    }

    /// Returns the result of calls that a class of results consists of, if it is a single one.
    private static func callResult(_ word: String?) -> String? { word == "accepted" ? "accepted" : nil }

    private static func summary(_ found: JSONValue?, _ pairs: [Pair], isFiltered: Bool) -> String {
        func number(_ object: String, _ name: String) -> Int64 { found?[object]?[name]?.integer ?? 0 }
        let sends =
            isFiltered
            ? Int64(pairs.reduce(0) { $0 + $1.sends })
            : number("total", "accepted") + number("total", "failed") + number("total", "refused")
        var parts = [
            "\(PageValues.number(sends)) sends from \(PageValues.time(found?["since"]?.string)) to "
                + "\(PageValues.time(found?["until"]?.string)) UTC, in whole hours or days"
        ]
        if let omitted = found?["omitted_pairs"]?.integer, omitted > 0 {
            parts.append("\(PageValues.number(omitted)) pairs with fewer sends are not shown")
        }
        let others = number("others", "accepted") + number("others", "failed") + number("others", "refused")
        if others > 0 { parts.append("\(PageValues.number(others)) sends are of pairs that are no longer counted") }
        if found?["complete"] == .bool(false) {
            // Several journals are counted from their beginnings, one from its end.
            let place = found?["next_seq"] == nil ? ("up to", "counted_until") : ("from", "counted_from")
            parts.append(
                "the journal is still being counted, so far \(place.0) \(PageValues.time(found?[place.1]?.string))")
        }
        return parts.joined(separator: "; ") + "."
    }
}
