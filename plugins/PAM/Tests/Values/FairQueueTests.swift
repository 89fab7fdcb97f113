import Testing

@testable import PAM

@Suite("Fair queue")
struct FairQueueTests {
    @Test("first come, first served")
    func order() {
        var queue = FairQueue<Int, String>(capacity: 10, share: 10, underWayAtOnce: 10)
        for number in 0..<5 { #expect(queue.add(number, of: "a") == true) }
        let taken = (0..<5).map { _ in queue.takeNext() }
        #expect(taken == [0, 1, 2, 3, 4])
        #expect(queue.takeNext() == nil)
    }

    @Test("one place has its share of the queue, and no more")
    func share() {
        var queue = FairQueue<Int, String>(capacity: 8, share: 2, underWayAtOnce: 1)
        let added = (0..<4).map { queue.add($0, of: "a") }
        #expect(added == [true, true, false, false])
        #expect(queue.add(4, of: "b") == true)
        #expect(queue.takeNext() == 0)
        #expect(queue.add(5, of: "a") == true)
        #expect(queue.add(6, of: "a") == false)
    }

    @Test("nobody is let in beyond the capacity")
    func capacity() {
        var queue = FairQueue<Int, Int>(capacity: 3, share: 1, underWayAtOnce: 1)
        let added = (0..<5).map { queue.add($0, of: $0) }
        #expect(added == [true, true, true, false, false])
    }

    @Test("one place has so many under way, and those behind it are served")
    func underWay() {
        var queue = FairQueue<Int, String>(capacity: 10, share: 10, underWayAtOnce: 2)
        for number in 0..<4 { _ = queue.add(number, of: "a") }
        _ = queue.add(9, of: "b")
        #expect(queue.takeNext() == 0)
        #expect(queue.takeNext() == 1)
        #expect(queue.takeNext() == 9)
        #expect(queue.takeNext() == nil)
        queue.finish("b")
        #expect(queue.takeNext() == nil)
        queue.finish("a")
        #expect(queue.takeNext() == 2)
        #expect(queue.takeNext() == nil)
        #expect(queue.removeAll() == [3])
        #expect(queue.takeNext() == nil)
    }

    @Test("a place that comes again is counted from nothing")
    func forgotten() {
        var queue = FairQueue<Int, String>(capacity: 4, share: 1, underWayAtOnce: 1)
        for number in 0..<100 {
            #expect(queue.add(number, of: "a") == true)
            #expect(queue.takeNext() == number)
            queue.finish("a")
        }
        queue.finish("never seen")
        #expect(queue.add(0, of: "never seen") == true)
        #expect(queue.takeNext() == 0)
    }
}

extension FairQueue {
    /// What comes next, without its place.
    fileprivate mutating func takeNext() -> Element? { next()?.element }
}
