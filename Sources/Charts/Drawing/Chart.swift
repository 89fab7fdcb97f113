/// A picture, and the same figures as a table.
package protocol Chart: Sendable {
    /// Returns the picture: one `svg` element, for inlining in a page that has the style sheet. Equal input yields
    /// equal text.
    func svg(_ frame: ChartFrame) -> String

    /// The figures that the picture shows, as its text alternative.
    var table: ChartTable { get }
}

extension Chart {
    /// Returns a `div` element with the picture in both layouts. The style sheet hides the one that does not suit the
    /// width of the container. The ids of the compact picture begin with the frame's id and `-compact`.
    package func responsive(id: String, title: String) -> String {
        let regular = ChartFrame(id: id, title: title, layout: .regular)
        let compact = ChartFrame(id: "\(regular.id.prefix(56))-compact", title: title, layout: .compact)
        return "<div class=\"chart-responsive\">\(svg(regular))\(svg(compact))</div>"
    }
}

/// The figures of a picture. Texts are safe to show in one line, but not escaped for HTML.
package struct ChartTable: Sendable, Hashable {
    /// The headings.
    package let columns: [String]
    /// The rows, each with as many cells as there are headings.
    package let rows: [[String]]
}

/// The address to which a part of a picture leads.
struct LinkTarget: Sendable, Hashable {
    /// The maximum length in bytes. A longer address is no link.
    static let maximumLength = 8192

    let path: String

    /// Accepts a percent-encoded path on the same origin, or a query or fragment alone. Returns nil for anything else,
    /// such as `javascript:` or an address of another host.
    init?(_ path: String?) {
        guard let path, path.utf8.count <= Self.maximumLength, path.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        switch path.utf8.first {
        case UInt8(ascii: "?"), UInt8(ascii: "#"): break
        // Browsers read `//` and `/\` as the beginning of a host.
        case UInt8(ascii: "/") where !path.hasPrefix("//") && !path.hasPrefix("/\\"): break
        default: return nil
        }
        self.path = path
    }
}
