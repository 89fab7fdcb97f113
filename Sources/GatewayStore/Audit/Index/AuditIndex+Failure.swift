extension AuditIndex {
    /// The error thrown if the index cannot be used or the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failed operation, and the message of the system.
        public let description: String
        /// The number of the first line of the segment whose index is damaged; nil if the failure is not damage.
        let damagedSegment: UInt64?

        init(_ description: String) {
            self.description = description
            damagedSegment = nil
        }

        init(_ error: any Error) {
            if let failure = error as? Failure { self = failure } else { self.init("\(error)") }
        }

        /// Creates the failure that the index of a segment is damaged or does not match the segment.
        init(damaged segment: UInt64, _ detail: String = "is damaged") {
            description = "\(AuditIndex.fileName(first: segment)) \(detail)"
            damagedSegment = segment
        }
    }
}
