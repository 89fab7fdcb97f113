internal import GatewayCore

extension WallTime {
    /// The time so many microseconds later; times before the first or after the last there is are those.
    func adding(_ microseconds: Int64) -> WallTime {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return WallTime(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }
}
