import Testing

@testable import Charts

/// The colours of the style sheet.
@Suite struct StyleSheetTests {
    /// The variables of each block that sets colours, in the order light, dark.
    private var palettes: [[String: String]] {
        Charts.styleSheet.split(separator: "}").compactMap { block in
            var palette: [String: String] = [:]
            for line in block.split(separator: "\n") {
                let parts = line.split(separator: ":").map { $0.drop { $0 == " " } }
                if parts.count == 2, parts[0].hasPrefix("--chart-"), parts[1].hasPrefix("#") {
                    palette[String(parts[0])] = String(parts[1].dropLast())
                }
            }
            return palette.isEmpty ? nil : palette
        }
    }

    /// The contrast ratio of WCAG 2.2.
    private func contrast(_ left: String, _ right: String) -> Double {
        func luminance(_ colour: String) -> Double {
            let number = Int(colour.dropFirst(), radix: 16) ?? 0
            let channels = [16, 8, 0].map { shift in
                let share = Double((number >> shift) & 0xFF) / 255
                return share <= 0.04045 ? share / 12.92 : power((share + 0.055) / 1.055)
            }
            return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
        }
        let values = [luminance(left), luminance(right)].sorted()
        return (values[1] + 0.05) / (values[0] + 0.05)
    }

    /// The base to the power of 2.4 = 2 + 2/5, by Newton's method for the fifth root.
    private func power(_ base: Double) -> Double {
        var root = 1.0
        for _ in 0..<60 { root -= (root - base / (root * root * root * root)) / 5 }
        return base * base * root * root
    }

    @Test("Texts have a contrast of 4.5:1 and marks of 3:1, light and dark")
    func contrasts() throws {
        #expect(palettes.count == 2)
        for palette in palettes {
            let surface = try #require(palette["--chart-surface"])
            let tile = try #require(palette["--chart-tile"])
            for name in ["ink", "muted"] + (1...5).map({ "series-\($0)" }) {
                #expect(contrast(try #require(palette["--chart-\(name)"]), surface) >= 4.5, "\(name)")
            }
            for name in ["axis", "focus", "refused"] + (1...5).map({ "level-\($0)" }) {
                #expect(contrast(try #require(palette["--chart-\(name)"]), surface) >= 3, "\(name)")
                #expect(contrast(try #require(palette["--chart-\(name)"]), tile) >= 3, "\(name)")
            }
        }
    }

    @Test("A level differs from the next one in brightness, always in the same direction")
    func levels() throws {
        for palette in palettes {
            let surface = try #require(palette["--chart-surface"])
            let contrasts = try (1...5).map { contrast(try #require(palette["--chart-level-\($0)"]), surface) }
            for (lower, upper) in zip(contrasts, contrasts.dropFirst()) { #expect(upper / lower > 1.2) }
        }
    }

    @Test("The style sheet loads nothing")
    func selfContained() {
        for needle in ["url(", "@import", "expression", "<", "http"] { #expect(!Charts.styleSheet.contains(needle)) }
        #expect(Charts.styleSheet.utf8.elementsEqual(Charts.styleSheetBytes))
    }
}
