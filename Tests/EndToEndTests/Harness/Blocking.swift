import Foundation

/// Runs blocking work on a thread of its own, because the thread pool of tasks is small.
enum Blocking {
    static func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try work() }) }
        }
    }
}
