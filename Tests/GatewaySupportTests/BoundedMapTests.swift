import GatewaySupport
import GatewayTesting
import Testing

@Suite("Bounded maps")
struct BoundedMapTests {
    private struct Key: OwnedKey, CustomStringConvertible {
        let owner: Int
        let number: Int
        var description: String { "\(owner).\(number)" }
    }

    private struct Plain: OwnedKey {
        typealias Owner = SoleOwner
        let number: Int
    }

    /// A map that searches an array, oldest first.
    private struct Model {
        var entries: [(key: Key, value: Int)] = []
        let capacity: Int

        mutating func insert(_ value: Int, _ key: Key) {
            entries.removeAll { $0.key == key }
            if entries.count == capacity { entries.removeFirst() }
            entries.append((key, value))
        }
    }

    @Test("A map agrees with a simple one after each of many random changes", arguments: [1, 2, 7, 64])
    func agreesWithModel(capacity: Int) {
        var random = SplitMix(seed: UInt64(capacity))
        var map = BoundedMap<Key, Int>(capacity: capacity)
        var model = Model(capacity: capacity)
        for step in 0..<4000 {
            let key = Key(owner: .random(in: 0..<5, using: &random), number: .random(in: 0..<30, using: &random))
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
                map.insert(step, for: key)
                model.insert(step, key)
            case 60..<75:
                map.remove(key)
                model.entries.removeAll { $0.key == key }
            case 75..<85:
                let isKnown = map.update(key) { $0 = -step }
                let index = model.entries.firstIndex { $0.key == key }
                if let index { model.entries[index].value = -step }
                #expect(isKnown == (index != nil))
            case 85..<95:
                map.update(key, asNewest: true) { $0 += 1 }
                if let known = model.entries.first(where: { $0.key == key }) { model.insert(known.value + 1, key) }
            case 95..<98:
                map.removeAll(of: key.owner) { $0.value.isMultiple(of: 2) }
                model.entries.removeAll { $0.key.owner == key.owner && $0.value.isMultiple(of: 2) }
            case 98:
                map.removeAll(of: key.owner)
                model.entries.removeAll { $0.key.owner == key.owner }
            default:
                map.removeAll()
                model.entries = []
            }
            guard agree(map, model) else {
                Issue.record("the maps differ after step \(step)")
                return
            }
        }
    }

    private func agree(_ map: BoundedMap<Key, Int>, _ model: Model) -> Bool {
        let sorted = map.entries.sorted { $0.serial < $1.serial }
        let owners = Dictionary(grouping: model.entries, by: \.key.owner)
        return sorted.map(\.key) == model.entries.map(\.key) && sorted.map(\.value) == model.entries.map(\.value)
            && map.count == model.entries.count && map.ownerCount == owners.count
            && map.oldest?.key == model.entries.first?.key
            && owners.allSatisfy { owner, entries in
                map.count(of: owner) == entries.count && map.oldest(of: owner)?.key == entries[0].key
                    && map.oldest(of: owner) { $0.value < 0 }?.key == entries.first { $0.value < 0 }?.key
            }
            && model.entries.allSatisfy { map[$0.key] == $0.value }
    }

    @Test("An entry in use stays in a full map, and one that is not in use is evicted")
    func refresh() {
        var map = BoundedMap<Plain, Int>(capacity: 100)
        for number in 0..<10_000 {
            map.insert(number, for: Plain(number: number))
            #expect(map.count <= 100)
            if number % 20 == 0 {
                let kept = map.refresh(Plain(number: 0))
                #expect(kept == 0)
            }
        }
        #expect(map[Plain(number: 1)] == nil && map[Plain(number: 9902)] != nil)
        let absent = map.refresh(Plain(number: 1))
        #expect(absent == nil)
    }

    @Test("A serial number is not used again")
    func serials() {
        var map = BoundedMap<Plain, Int>(capacity: 2)
        var serials: [UInt64] = []
        for number in [1, 1, 2, 3, 1] {
            serials.append(map.insert(0, for: Plain(number: number)))
            if number == 3 { map.removeAll() }
        }
        #expect(serials == [1, 2, 3, 4, 5])
        #expect(map.entry(for: Plain(number: 1))?.serial == 5 && map.entry(for: Plain(number: 2)) == nil)
    }
}
