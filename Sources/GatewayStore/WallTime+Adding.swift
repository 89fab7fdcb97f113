internal import GatewaySupport

extension WallTime {
    /// Returns this time plus the number of microseconds, which may be negative. Saturates at the limits of the type.
    func adding(_ microseconds: Int64) -> WallTime {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return WallTime(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }
}
