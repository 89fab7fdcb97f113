/// A position on the Earth in degrees of WGS 84, as a sender states it. Nothing proves that the sender is there.
///
/// It is used only to evaluate fences. It has no printable form, so that no log contains it.
public struct Position: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The latitude, −90 to 90, positive to the north.
    public let latitude: Double
    /// The longitude, −180 to 180, positive to the east.
    public let longitude: Double

    /// Creates a position, or returns nil if a number is out of range or not a number.
    public init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// A fixed text without the coordinates.
    public var description: String { "(position)" }
    /// A fixed text without the coordinates.
    public var debugDescription: String { description }
    /// A mirror without the coordinates.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
