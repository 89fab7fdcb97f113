/// A writer of SVG elements. All texts and values are escaped, and what XML 1.0 forbids is left out.
///
/// Names of elements and attributes are literals, so that no input becomes markup.
struct SVGWriter {
    private var bytes: [UInt8] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// The text written so far.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes a start tag.
    mutating func open(_ element: StaticString, _ attributes: SVGAttribute...) {
        tag(element, attributes)
        raw(">")
    }

    /// Writes an end tag.
    mutating func close(_ element: StaticString) {
        raw("</")
        raw(element)
        raw(">")
    }

    /// Writes an element without content.
    mutating func shape(_ element: StaticString, _ attributes: SVGAttribute...) {
        tag(element, attributes)
        raw("/>")
    }

    /// Writes an element that contains only a title, which browsers show as a tooltip.
    mutating func shape(_ element: StaticString, title: String, _ attributes: SVGAttribute...) {
        tag(element, attributes)
        raw(">")
        self.title(title)
        close(element)
    }

    /// Writes a `text` element.
    mutating func label(_ content: String, _ attributes: SVGAttribute...) {
        tag("text", attributes)
        raw(">")
        escaped(content)
        raw("</text>")
    }

    /// Writes a `text` element with a title, for a label that may have been shortened.
    mutating func label(_ content: String, title: String, _ attributes: SVGAttribute...) {
        tag("text", attributes)
        raw(">")
        self.title(title)
        escaped(content)
        raw("</text>")
    }

    /// Writes a `title` element.
    mutating func title(_ content: String) {
        raw("<title>")
        escaped(content)
        raw("</title>")
    }

    /// Writes an element that contains only text.
    mutating func element(_ name: StaticString, id: String, content: String) {
        tag(name, [.text("id", id)])
        raw(">")
        escaped(content)
        close(name)
    }

    private mutating func tag(_ element: StaticString, _ attributes: [SVGAttribute]) {
        raw("<")
        raw(element)
        for attribute in attributes {
            raw(" ")
            switch attribute {
            case .number(let name, let value):
                raw(name)
                raw("=\"")
                bytes.append(coordinate: value)
            case .text(let name, let value):
                raw(name)
                raw("=\"")
                escaped(value)
            }
            raw("\"")
        }
    }

    private mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func escaped(_ content: String) {
        for byte in content.utf8 {
            switch byte {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            case UInt8(ascii: "\""): raw("&quot;")
            case UInt8(ascii: "'"): raw("&#39;")
            case 0x09, 0x0A, 0x0D: bytes.append(UInt8(ascii: " "))
            case 0..<0x20: break
            case 0xBE...0xBF where bytes.suffix(2) == [0xEF, 0xBF]: bytes.removeLast(2)  // U+FFFE and U+FFFF
            default: bytes.append(byte)
            }
        }
    }
}

/// An attribute of an SVG element.
enum SVGAttribute {
    case number(StaticString, Double)
    case text(StaticString, String)

    static func `class`(_ names: String) -> SVGAttribute { .text("class", names) }
    static func x(_ value: Double) -> SVGAttribute { .number("x", value) }
    static func y(_ value: Double) -> SVGAttribute { .number("y", value) }
    static func width(_ value: Double) -> SVGAttribute { .number("width", value) }
    static func height(_ value: Double) -> SVGAttribute { .number("height", value) }
    static func path(_ path: SVGPath) -> SVGAttribute { .text("d", path.text) }
}

/// The data of a `path` element.
struct SVGPath {
    private var bytes: [UInt8] = []

    var isEmpty: Bool { bytes.isEmpty }
    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func move(_ x: Double, _ y: Double) { command("M", [x, y]) }
    mutating func line(_ x: Double, _ y: Double) { command("L", [x, y]) }
    mutating func curve(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, to end: (x: Double, y: Double)) {
        command("C", [x1, y1, x2, y2, end.x, end.y])
    }
    mutating func close() { bytes.append(UInt8(ascii: "Z")) }

    /// Draws a dot: a line without length, which round caps make visible.
    mutating func dot(_ x: Double, _ y: Double) {
        move(x, y)
        line(x, y)
    }

    private mutating func command(_ letter: Unicode.Scalar, _ values: [Double]) {
        bytes.append(UInt8(ascii: letter))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: " ")) }
            bytes.append(coordinate: value)
        }
    }
}

extension [UInt8] {
    /// Appends a coordinate with at most one decimal place. What is not finite becomes 0.
    fileprivate mutating func append(coordinate value: Double) {
        let tenths = value.isFinite ? Int((Swift.min(Swift.max(value, -100_000), 100_000) * 10).rounded()) : 0
        if tenths < 0 { append(UInt8(ascii: "-")) }
        append(contentsOf: String(tenths.magnitude / 10).utf8)
        if tenths % 10 != 0 {
            append(UInt8(ascii: "."))
            append(UInt8(ascii: "0") + UInt8(tenths.magnitude % 10))
        }
    }
}
