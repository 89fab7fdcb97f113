import Foundation
import GatewayCore
import GatewayTesting

@testable import GatewayStore
@testable import GatewaySupport

/// The system's file system with injected faults, and a record of what a power failure would leave.
final class FaultyFileSystem: JournalFileSystem {
    /// The bytes that a failing write leaves behind.
    enum Leaving { case half, all, nothing }

    struct State {
        /// The numbers of the calls that fail, counted from 1 over all kinds of calls.
        var failing: Set<Int> = []
        var failsAlways = false
        var leaving = Leaving.half
        /// The maximum length of a file in bytes. Beyond it writes and file creation fail, as on a full disk.
        var capacity = Int.max
        /// The number of times that the disk was full.
        var rejections = 0
        var longestWrite = Int.max
        var free = UInt64.max
        /// The change time of every file; nil for the system's.
        var modified: WallTime?
        var calls = 0
        /// The number of line writes that are on disk.
        var batches = 0
        /// Whether a write of lines waits for the disk.
        var isHeld = false
        var spaceLooks = 0
        /// The content of each file after a power failure: the bytes of all writes that returned.
        var durable: [String: [UInt8]] = [:]
        var usedAfterFailure = false
        var failed: Set<String> = []
    }

    let state = AwaitableValue(State())
    private let gate = DispatchSemaphore(value: 1)
    private let files = SystemFileSystem()

    /// Makes the calls with these numbers fail, counted from now.
    func fail(_ calls: Set<Int>, leaving: Leaving = .half) {
        state.withLock {
            $0.calls = 0
            $0.failing = calls
            $0.leaving = leaving
        }
    }

    /// Blocks writes from now on.
    func holdDisk() { gate.wait() }

    /// Returns once a write of lines waits for the disk.
    func untilHeld() async { await state.wait { $0.isHeld } }

    /// Lets writes continue.
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
        let isFull = state.withLock { $0.capacity < .max && $0.rejections > 0 }
        if isFull { throw FileFailure("injected", path, code: ENOSPC) }
        return try files.create(path)
    }

    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: CInt, _ path: String
    ) throws(FileFailure) -> Int {
        let isFilling = bytes.first == 0x0A
        state.withLock { $0.isHeld = !isFilling }
        gate.wait()
        gate.signal()
        state.withLock { $0.isHeld = false }
        state.withLock { if $0.failed.contains(path) { $0.usedAfterFailure = true } }
        do throws(FileFailure) {
            try mayFail(path)
        } catch {
            let leaving = state.withLock { state in
                state.failed.insert(path)
                return state.leaving
            }
            let count = leaving == .half ? bytes.count / 2 : leaving == .all ? bytes.count : 0
            let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            _ = try? files.write(part, at: offset, to: descriptor, path)
            throw error
        }
        let (longest, capacity) = state.withLock { (isFilling ? .max : $0.longestWrite, $0.capacity - offset) }
        guard capacity > 0 else {
            state.withLock { $0.rejections += 1 }
            throw FileFailure("injected", path, code: ENOSPC)
        }
        let part = UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, longest, capacity)])
        let count = try files.write(part, at: offset, to: descriptor, path)
        state.withLock { state in
            if !isFilling { state.batches += 1 }
            var image = state.durable[path] ?? []
            if image.count < offset + count {
                image += [UInt8](repeating: 0x0A, count: offset + count - image.count)
            }
            image.replaceSubrange(offset..<(offset + count), with: part[..<count])
            state.durable[path] = image
        }
        return count
    }

    func truncate(_ descriptor: CInt, to length: Int, _ path: String) throws(FileFailure) {
        state.withLock { if $0.failed.contains(path) { $0.usedAfterFailure = true } }
        try files.truncate(descriptor, to: length, path)
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try mayFail(path)
    }

    func identity(of descriptor: CInt, _ path: String) throws(FileFailure) -> FileIdentity {
        try files.identity(of: descriptor, path)
    }

    func identity(_ path: String) throws(FileFailure) -> FileIdentity { try files.identity(path) }

    func modificationTime(of path: String) throws(FileFailure) -> WallTime {
        guard let time = state.withLock(\.modified) else { return try files.modificationTime(of: path) }
        return time
    }

    func close(_ descriptor: CInt) { files.close(descriptor) }

    func remove(_ path: String) throws(FileFailure) {
        try files.remove(path)
        state.withLock {
            $0.failed.remove(path)
            $0.durable[path] = nil
        }
    }

    func freeBytes(at path: String) throws(FileFailure) -> UInt64 {
        state.withLock {
            $0.spaceLooks += 1
            return $0.free
        }
    }

    func fileNames(in path: String) throws(FileFailure) -> [String] { try files.fileNames(in: path) }
    func read(_ path: String) throws(FileFailure) -> [UInt8] { try files.read(path) }
    func read(_ path: String, first count: Int) throws(FileFailure) -> [UInt8] { try files.read(path, first: count) }
    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8] { try files.read(path, last: count) }
    func size(_ path: String) throws(FileFailure) -> UInt64 { try files.size(path) }
    func truncateDurably(_ path: String, to length: Int) throws(FileFailure) {
        try files.truncateDurably(path, to: length)
    }
}
