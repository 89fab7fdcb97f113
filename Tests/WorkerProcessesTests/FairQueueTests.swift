import Testing
import WorkerProcesses

@Suite("Fair queue")
struct FairQueueTests {
    @Test("Elements leave in order of arrival")
    func order() {
        var queue = FairQueue<Int, String>(capacity: 10, maximumPerOrigin: 10, maximumInProgress: 10)
        for number in 0..<5 { #expect(queue.add(number, of: "a") == true) }
        let taken = (0..<5).map { _ in queue.removeNext() }
        #expect(taken == [0, 1, 2, 3, 4])
        #expect(queue.removeNext() == nil)
    }

    @Test("One origin may use its share of the queue and no more")
    func share() {
        var queue = FairQueue<Int, String>(capacity: 8, maximumPerOrigin: 2, maximumInProgress: 1)
        let added = (0..<4).map { queue.add($0, of: "a") }
        #expect(added == [true, true, false, false])
        #expect(queue.add(4, of: "b") == true)
        #expect(queue.removeNext() == 0)
        #expect(queue.add(5, of: "a") == true)
        #expect(queue.add(6, of: "a") == false)
    }

    @Test("No element is added beyond the capacity")
    func capacity() {
        var queue = FairQueue<Int, Int>(capacity: 3, maximumPerOrigin: 1, maximumInProgress: 1)
        let added = (0..<5).map { queue.add($0, of: $0) }
        #expect(added == [true, true, true, false, false])
    }

    @Test("A origin at its limit in progress is skipped, and later elements are served")
    func inProgress() {
        var queue = FairQueue<Int, String>(capacity: 10, maximumPerOrigin: 10, maximumInProgress: 2)
        for number in 0..<4 { _ = queue.add(number, of: "a") }
        _ = queue.add(9, of: "b")
        #expect(queue.removeNext() == 0)
        #expect(queue.removeNext() == 1)
        #expect(queue.removeNext() == 9)
        #expect(queue.removeNext() == nil)
        queue.finish("b")
        #expect(queue.removeNext() == nil)
        queue.finish("a")
        #expect(queue.removeNext() == 2)
        #expect(queue.removeNext() == nil)
        #expect(queue.removeAll() == [3])
        #expect(queue.removeNext() == nil)
    }

    @Test("The reserved origin has room beside a full queue, and a turn after three others")
    func reserved() {
        var queue = FairQueue<Int, String>(
            capacity: 4, maximumPerOrigin: 2, maximumInProgress: 2, reserved: "recheck")
        for number in 0..<4 { #expect(queue.add(number, of: "user-\(number)") == true) }
        #expect(queue.add(4, of: "user-4") == false)
        let added = (10..<13).map { queue.add($0, of: "recheck") }
        #expect(added == [true, true, false])
        // The elements of the reserved origin take no room from the others.
        #expect(queue.removeNext() == 0)
        #expect(queue.add(5, of: "user-5") == true)
        #expect(queue.removeNext() == 1)
        #expect(queue.removeNext() == 2)
        #expect(queue.removeNext() == 10)
        #expect((0..<4).map { _ in queue.removeNext() } == [3, 11, 5, nil])
    }

    @Test("The reserved origin does not keep the only worker")
    func reservedInTurn() {
        var queue = FairQueue<Int, String>(
            capacity: 100, maximumPerOrigin: 100, maximumInProgress: 1, reserved: "recheck")
        for number in 0..<40 {
            _ = queue.add(number, of: "user-\(number)")
            _ = queue.add(100 + number, of: "recheck")
        }
        var started: [Int] = []
        for _ in 0..<20 {
            guard let next = queue.next() else { break }
            started.append(next.element)
            queue.finish(next.origin)
        }
        #expect(started.filter { $0 < 100 }.count >= 9)
        #expect(started.filter { $0 >= 100 }.count >= 5)
    }

    @Test("A origin that finished is counted from zero again")
    func forgotten() {
        var queue = FairQueue<Int, String>(capacity: 4, maximumPerOrigin: 1, maximumInProgress: 1)
        for number in 0..<100 {
            #expect(queue.add(number, of: "a") == true)
            #expect(queue.removeNext() == number)
            queue.finish("a")
        }
        queue.finish("never seen")
        #expect(queue.add(0, of: "never seen") == true)
        #expect(queue.removeNext() == 0)
    }
}

extension FairQueue {
    /// Removes the next element, without its origin.
    fileprivate mutating func removeNext() -> Element? { next()?.element }
}
