/// The rule that selects the calls whose spans are recorded.
///
/// The decision depends on the trace alone, so it is the same whenever it is made.
public struct TraceSampling: Sendable, Hashable {
    /// The ratio of the selected calls among those that the ratio applies to, from 0 to 1.
    public let ratio: Double
    /// Whether the sampled flag of a trusted parent decides. The ratio then applies only to calls without one.
    public let followsParent: Bool

    /// The ratio of ``ratio`` by default.
    public static let defaultRatio = 0.01
    /// The bits of a mixed trace id that are compared.
    private static let bits: UInt64 = 56

    /// Creates a rule. A ratio outside of 0 to 1 is limited to that range.
    public init(ratio: Double = Self.defaultRatio, followsParent: Bool = true) {
        self.ratio = ratio.isNaN ? 0 : min(1, max(0, ratio))
        self.followsParent = followsParent
    }

    /// Returns whether a call is selected. Takes no lock and allocates nothing.
    ///
    /// - Parameter trace: The trace of a trusted parent, or the one that the gateway starts.
    package func selects(_ trace: TraceContext) -> Bool {
        if followsParent, trace.parent != nil { return trace.isSampled }
        return trace.mixedID >> (64 - Self.bits) < UInt64(ratio * Double(1 << Self.bits))
    }
}
