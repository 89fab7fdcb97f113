internal import GatewaySupport

extension WallTime {
    /// Returns the time that is later by the number of microseconds, limited to the range of the type.
    func adding(_ microseconds: Int64) -> WallTime {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return WallTime(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }
}
