/// The style sheet that the pictures of this module need.
package enum Charts {
    /// The style sheet in UTF-8, for a page to serve from its own origin.
    package static let styleSheetBytes: [UInt8] = PackageResources.charts_css

    /// The style sheet as text.
    package static let styleSheet = String(decoding: styleSheetBytes, as: UTF8.self)
}
