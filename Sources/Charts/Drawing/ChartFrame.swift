/// The identity and the layout of one picture on a page.
package struct ChartFrame: Sendable, Hashable {
    /// The space for which a picture is laid out.
    package enum Layout: Sendable, Hashable {
        /// A container of 600 pixels or more.
        case regular
        /// A phone: a container of 300 pixels or more.
        case compact
    }

    /// The prefix of the ids in the picture, unique on the page.
    package let id: String
    /// The name of the picture. It is not drawn: the page has it as a heading.
    package let title: String
    /// The space for which the picture is laid out.
    package let layout: Layout

    /// Creates a frame.
    ///
    /// - Parameter id: at most 64 ASCII letters, digits, `-` and `_`, with a letter first. Others are left out.
    package init(id: String, title: String, layout: Layout = .regular) {
        let allowed = id.unicodeScalars.prefix(64).filter {
            $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "-" || $0 == "_")
        }
        let clean = String(String.UnicodeScalarView(allowed))
        self.id = clean.unicodeScalars.first?.properties.isAlphabetic == true ? clean : "chart-\(clean)"
        self.title = title
        self.layout = layout
    }

    var titleID: String { "\(id)-title" }
    var descriptionID: String { "\(id)-desc" }
    var isCompact: Bool { layout == .compact }
}
