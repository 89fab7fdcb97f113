public import GatewaySupport

/// Decides when a changed file counts that takes something from somebody: another program may be in the middle of writing
/// it.
///
/// A file that only adds counts at once. One that takes something from an entry counts when the next two looks find the same
/// version, one that takes from several entries after one equal look more for each, at most ``maximumLooks``.
/// The count does not fall before the file has counted, so a program that writes the file step by step is not mistaken for
/// one that has finished when few entries are missing. A file that is rewritten again and again counts after
/// ``maximumValidLooks``.
public struct FileSettling: Sendable {
    /// The maximum number of equal looks after the first one. A look happens every quarter of a second.
    public static let maximumLooks = 16

    /// The maximum number of looks that find a valid file, changed or not: ten minutes.
    public static let maximumValidLooks = 2_400

    private var waiting: FileVersion?
    private var validLooks = 0
    private var equalLooks = 0
    private var neededLooks = 0

    /// Creates the state of a file that counts.
    public init() {}

    /// Records a look at the file.
    ///
    /// - Parameters:
    ///   - version: The version that the look has found; nil if the file is invalid.
    ///   - losses: The number of entries that the file takes something from, compared with the version that counts.
    /// - Returns: Whether the version counts from now on.
    public mutating func counts(_ version: FileVersion?, losses: Int) -> Bool {
        guard let version else {
            waiting = nil
            return false
        }
        if losses == 0 {
            self = FileSettling()
            return true
        }
        validLooks += 1
        neededLooks = max(neededLooks, min(losses + 1, Self.maximumLooks))
        if waiting == version {
            equalLooks += 1
        } else {
            (waiting, equalLooks) = (version, 0)
        }
        guard equalLooks >= neededLooks || validLooks >= Self.maximumValidLooks else { return false }
        self = FileSettling()
        return true
    }

    /// Returns the problem of a file that does not count yet, so that the caller looks again.
    ///
    /// - Parameter losses: What the file takes away, such as "takes something from 3 users".
    public static func problem(of file: String, _ losses: String) -> ConfigurationProblem {
        ConfigurationProblem(
            at: SourceLocation(file: file), path: "",
            "\(losses), and may be in the middle of a write; it counts when it stays as it is for a moment",
            severity: .warning)
    }
}
