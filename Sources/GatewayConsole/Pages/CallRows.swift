internal import GatewaySupport

/// The rows of tables of calls.
enum CallRows {
    /// The kind of a result, which decides how it is marked.
    static func mark(_ result: String) -> String {
        switch result {
        case "accepted", "adopted", "healed", "neutralised": "good"
        case "pending", "mixed": "open"
        default: "bad"
        }
    }

    /// Returns the row of a send.
    static func send(_ item: JSONValue) -> PageModel {
        var row = base(item)
        let recipients = (item["to"]?.items ?? []).compactMap(\.string)
        row["from"] = link(item["from"]?.string)
        if row["from"] == nil, let attempted = item["attempted"]?.string { row["attempted"] = attempted }
        row["to"] = recipients.prefix(3).compactMap(link)
        if recipients.count > 3 { row["more"] = "\(recipients.count - 3)" }
        let result = item["result"]?.string ?? "pending"
        row["result"] = result
        row["mark"] = mark(result)
        if let call = item["call"]?.string { row["href"] = ConsoleLinks.call(call) }
        return row
    }

    /// Returns the row of a refusal.
    static func refusal(_ item: JSONValue) -> PageModel {
        var row = base(item)
        row["from"] = link(item["user"]?.string)
        if row["from"] == nil, let attempted = item["attempted"]?.string { row["attempted"] = attempted }
        if let recipient = link(item["to"]?.string) { row["to"] = [recipient] }
        if let call = item["call"]?.string { row["href"] = ConsoleLinks.call(call) }
        row["mark"] = "bad"
        return row
    }

    private static func base(_ item: JSONValue) -> PageModel {
        guard case .object(let members) = item else { return [:] }
        var row = PageValues.model(members)
        row["time"] = PageValues.time(item["at"]?.string)
        return row
    }

    /// Returns a user's name and the path of the user's page.
    static func link(_ name: String?) -> PageModel? { name.map { ["name": $0, "href": ConsoleLinks.user($0)] } }
}
