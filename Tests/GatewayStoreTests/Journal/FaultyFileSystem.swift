import Foundation
import Synchronization

@testable import GatewayStore

/// The system's files with faults on order, and a memory of what a loss of power would leave.
final class FaultyFileSystem: JournalFileSystem {
    /// The calls that can be made to fail.
    enum Call: Hashable { case create, write, synchronize, synchronizeDirectory }

    struct State {
        /// The calls from now on that fail, counted from 1 over all kinds.
        var failing: Set<Int> = []
        var failsAlways = false
        var losesUnsynchronised = false
        var longestWrite = Int.max
        var free = UInt64.max
        var calls = 0
        var synchronisations = 0
        var spaceLooks = 0
        var written: [String: Int] = [:]
        var durable: [String: Int] = [:]
        var synchronisedAfterFailure = false
        var failed: Set<String> = []
    }

    let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 1)
    private let files = SystemFileSystem()

    /// Makes the calls of these numbers fail, counted from now.
    func fail(_ calls: Set<Int>, losing: Bool = false) {
        state.withLock {
            $0.calls = 0
            $0.failing = calls
            $0.losesUnsynchronised = losing
        }
    }

    /// From now on synchronising waits.
    func holdDisk() { gate.wait() }

    /// Synchronising goes on.
    func releaseDisk() { gate.signal() }

    private func mayFail(_ path: String) throws(FileFailure) {
        let fails = state.withLock { state in
            state.calls += 1
            return state.failsAlways || state.failing.contains(state.calls)
        }
        if fails { throw FileFailure("injected", path, code: EIO) }
    }

    func create(_ path: String) throws(FileFailure) -> CInt {
        try mayFail(path)
        return try files.create(path)
    }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt, _ path: String) throws(FileFailure) -> Int {
        use(path)
        do throws(FileFailure) {
            try mayFail(path)
        } catch {
            // Half of it gets there, as when a disk is full.
            _ = try? files.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), to: descriptor, path)
            state.withLock { _ = $0.failed.insert(path) }
            throw error
        }
        let longest = state.withLock { $0.longestWrite }
        let part = UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, longest)])
        let count = try files.write(part, to: descriptor, path)
        state.withLock { $0.written[path, default: 0] += count }
        return count
    }

    func synchronize(_ descriptor: CInt, _ path: String) throws(FileFailure) {
        gate.wait()
        gate.signal()
        use(path)
        do throws(FileFailure) {
            try mayFail(path)
        } catch {
            let (loses, durable) = state.withLock { state in
                state.failed.insert(path)
                return (state.losesUnsynchronised, state.durable[path] ?? 0)
            }
            if loses { ftruncate(descriptor, off_t(durable)) }
            throw error
        }
        // The disk itself shows nothing here: what would survive is what was written when this was called.
        state.withLock {
            $0.synchronisations += 1
            $0.durable[path] = $0.written[path]
        }
    }

    private func use(_ path: String) {
        state.withLock { if $0.failed.contains(path) { $0.synchronisedAfterFailure = true } }
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try mayFail(path)
    }

    func close(_ descriptor: CInt) { files.close(descriptor) }

    func remove(_ path: String) throws(FileFailure) {
        try files.remove(path)
        state.withLock {
            $0.failed.remove(path)
            $0.written[path] = nil
            $0.durable[path] = nil
        }
    }

    func freeBytes(at path: String) throws(FileFailure) -> UInt64 {
        state.withLock {
            $0.spaceLooks += 1
            return $0.free
        }
    }

    func names(in path: String) throws(FileFailure) -> [String] { try files.names(in: path) }
    func read(_ path: String) throws(FileFailure) -> [UInt8] { try files.read(path) }
    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8] { try files.read(path, last: count) }
    func size(_ path: String) throws(FileFailure) -> UInt64 { try files.size(path) }
    func truncate(_ path: String, to length: Int) throws(FileFailure) { try files.truncate(path, to: length) }
}
