/// A text that others chose, such as the name of a user, made safe to show in one line.
///
/// Control characters and noncharacters are removed, line breaks become spaces. Characters that reorder or hide text
/// become U+FFFD, so that a name cannot look like another one. The result is not escaped: `SVGWriter` does that.
struct DisplayText: Sendable, Hashable {
    /// The number of Unicode scalars that are read. The rest is cut off.
    static let maximumScalars = 1024
    /// The number of characters (grapheme clusters) of `full`.
    static let maximumCharacters = 200
    /// The number of combining marks that one character keeps.
    static let maximumMarks = 3

    /// The text for titles and tables, with an ellipsis if it was cut off.
    let full: String

    init(_ raw: String) {
        var scalars = String.UnicodeScalarView()
        var marks = 0
        var count = 0
        for scalar in raw.unicodeScalars {
            if count == Self.maximumScalars { break }
            count += 1
            switch Self.treatment(of: scalar) {
            case .remove: continue
            case .space:
                scalars.append(" ")
                marks = 0
            case .replace:
                scalars.append("\u{FFFD}")
                marks = 0
            case .mark:
                marks += 1
                if marks <= Self.maximumMarks { scalars.append(scalar) }
            case .keep:
                scalars.append(scalar)
                marks = 0
            }
        }
        let clean = String(scalars)
        let isCut = raw.unicodeScalars.dropFirst(Self.maximumScalars).first != nil
        let shown = clean.prefix(Self.maximumCharacters)
        full = clean.isEmpty ? "(no name)" : shown.endIndex < clean.endIndex || isCut ? shown + "…" : clean
    }

    /// The text for use within a sentence: in Unicode isolates if it may contain letters that run from right to left.
    var isolated: String {
        full.unicodeScalars.contains { $0.value >= 0x590 } ? "\u{2068}\(full)\u{2069}" : full
    }

    /// Returns as much of the text as fits into the width, with an ellipsis if that is not all.
    ///
    /// - Parameter width: the space in units of the font size.
    func fitted(to width: Double) -> String {
        var used = 0.0
        var cut = full.startIndex
        for index in full.indices {
            used += TextWidth.of(full[index])
            if used > width { return full[..<cut] + "…" }
            if used + TextWidth.ellipsis <= width { cut = full.index(after: index) }
        }
        return full
    }

    private enum Treatment { case keep, mark, remove, replace, space }

    private static func treatment(of scalar: Unicode.Scalar) -> Treatment {
        switch scalar.value {
        case 0x20...0x7E: .keep
        case 0x09, 0x0A, 0x0D, 0x85, 0x2028, 0x2029: .space
        case 0...0x1F, 0x7F...0x9F, 0xFDD0...0xFDEF: .remove
        // Directional marks, embeddings, overrides and isolates; characters without a width.
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: .replace
        case 0xAD, 0x200B, 0x2060...0x2064, 0xFEFF: .replace
        case let value where value & 0xFFFE == 0xFFFE: .remove
        case let value where value < 0x300: .keep
        default:
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark: .mark
            default: .keep
            }
        }
    }
}
