import Charts
import GatewaySupport

/// A picture as its elements, in document order.
struct SVGDocument {
    struct Element {
        let name: String
        let attributes: [String: String]
        /// The indices of the elements around it, the outermost first.
        let ancestors: [Int]
        /// The character data directly within it.
        var text = ""
        /// The content of its `title` child.
        var title: String?

        var classes: [String] { (attributes["class"] ?? "").split(separator: " ").map(String.init) }
    }

    private(set) var elements: [Element] = []

    /// Parses a picture. Fails if it is not well-formed XML.
    init(_ svg: String) throws {
        var tokenizer = XMLTokenizer(svg.utf8)
        var open: [Int] = []
        while let token = try tokenizer.next() {
            switch token {
            case .start(let name, let attributes):
                elements.append(Element(name: name, attributes: attributes, ancestors: open))
                open.append(elements.count - 1)
            case .text(let text): elements[open[open.count - 1]].text += text
            case .end:
                let closed = open.removeLast()
                if elements[closed].name == "title", let parent = open.last {
                    elements[parent].title = elements[closed].text
                }
            }
        }
    }

    /// The elements with the class.
    func elements(withClass name: String) -> [Element] { elements.filter { $0.classes.contains(name) } }

    /// The titles of links and groups.
    var titles: [String] { elements.filter { $0.name == "a" || $0.name == "g" }.compactMap(\.title) }

    /// The visible texts.
    var labels: [String] { elements.filter { $0.name == "text" }.map(\.text) }

    /// The sentence that describes the picture.
    var description: String { elements.first { $0.name == "desc" }?.text ?? "" }

    /// What breaks the rules for all pictures; empty if nothing does.
    var violations: [String] {
        var found: [String] = []
        let allowed: Set<String> = ["svg", "g", "title", "desc", "a", "rect", "path", "circle", "text"]
        let attributes: Set<String> = [
            "xmlns", "class", "viewBox", "width", "height", "role", "aria-labelledby", "id", "x", "y", "rx", "d", "cx",
            "cy", "r", "href", "transform", "text-anchor", "stroke-width",
        ]
        var ids: Set<String> = []
        for element in elements {
            if !allowed.contains(element.name) { found.append("element \(element.name)") }
            for (name, value) in element.attributes {
                if !attributes.contains(name) { found.append("attribute \(name)") }
                if Self.hasForbiddenScalar(value) { found.append("a character in \(name)") }
            }
            if Self.hasForbiddenScalar(element.text) { found.append("a character in the text \(element.text)") }
            for name in element.classes where !Self.styleSheetClasses.contains(name) {
                found.append("class \(name) is not in the style sheet")
            }
            if let id = element.attributes["id"], !ids.insert(id).inserted { found.append("duplicate id \(id)") }
            if let address = element.attributes["href"], !address.hasPrefix("/calls?"), !address.hasPrefix("/users/") {
                found.append("the address \(address)")
            }
            if element.name == "a", element.title?.isEmpty ?? true { found.append("a link without a title") }
            if element.name == "a", element.ancestors.contains(where: { elements[$0].attributes["role"] == "img" }) {
                found.append("a link within an image")
            }
        }
        let images = elements.filter { $0.attributes["role"] == "img" }
        if images.count != 1 { found.append("\(images.count) images") }
        for id in (images.first?.attributes["aria-labelledby"] ?? "missing").split(separator: " ")
        where !ids.contains(String(id)) {
            found.append("no element with the id \(id)")
        }
        if description.isEmpty { found.append("no description") }
        return found
    }

    private static let styleSheetClasses: Set<String> = {
        var classes: Set<String> = ["chart-regular", "chart-compact", "chart-histogram", "chart-time"]
        for part in Charts.styleSheet.split(separator: ".").dropFirst() {
            let name = part.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
            if name.hasPrefix("chart") { classes.insert(String(name)) }
        }
        return classes.union(["chart-name", "chart-quantile", "chart-quantile-p50"])
    }()

    /// Whether XML 1.0 forbids a character, or a bidirectional control is not balanced.
    private static func hasForbiddenScalar(_ text: String) -> Bool {
        var depth = 0
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: break
            case 0..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF, 0x202A...0x202E, 0x2066, 0x2067: return true
            case 0x2068: depth += 1
            case 0x2069:
                depth -= 1
                if depth < 0 { return true }
            default: break
            }
        }
        return depth != 0
    }
}
