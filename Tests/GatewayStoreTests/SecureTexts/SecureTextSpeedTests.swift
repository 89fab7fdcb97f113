import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = SecureTextFixture

@Suite("Speed of the texts of secure sends", .timeLimit(.minutes(30)), .enabled(if: TestRun.isFull), .serialized)
struct SecureTextSpeedTests {
    private static let owners = (0..<1000).map { UserName(canonical: "user\($0)")! }

    /// Stores texts of 200 bytes, the same number for each owner.
    private func filled(_ perOwner: Int) async throws -> (SecureTextFixture, [SecureTextReservation.Place]) {
        var bounds = StoredSecureTexts.Bounds()
        bounds.textsPerUser = perOwner
        let fixture = try SecureTextFixture(bounds: bounds)
        let text = String(repeating: "x", count: 200)
        var places: [SecureTextReservation.Place] = []
        for _ in 0..<perOwner {
            let reservation = try fixture.reserve(text, for: Self.owners)
            try await reservation.store()
            places += reservation.places
        }
        return (fixture, places)
    }

    private func milliseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Double(seconds) * 1000 + Double(attoseconds) / 1e15
    }

    @Test("With a million texts a fetch takes less than 5 ms in 99 of 100 cases, also while others are stored")
    func million() async throws {
        let (fixture, places) = try await filled(1000)
        #expect(fixture.texts.amount.texts == 1_000_000)
        fixture.texts.bounds.texts = 2_000_000
        fixture.texts.bounds.textsPerUser = 2000
        for isLoaded in [false, true] {
            let load = Task {
                while isLoaded, !Task.isCancelled { try await fixture.store(for: Self.owners.randomElement()!) }
            }
            var times: [Double] = []
            for _ in 0..<20_000 {
                let place = try #require(places.randomElement())
                times.append(
                    try await milliseconds {
                        let text = try await fixture.read(place.id, as: place.owner)
                        #expect(text?.text.utf8.count == 200)
                    })
            }
            load.cancel()
            _ = try? await load.value
            times.sort()
            let (median, p99, longest) = (times[10_000], times[19_800], times[19_999])
            print(
                "fetch, a million texts, stores \(isLoaded): median \(median) ms, p99 \(p99) ms, longest \(longest) ms")
            #expect(p99 < 5)
        }
        let opening = ContinuousClock.now
        try fixture.texts.close()
        let again = try SecureTextFixture(fixture.directory)
        print("closing and opening a million texts: \(ContinuousClock.now - opening)")
        #expect(again.texts.amount.texts >= 1_000_000)
    }

    @Test("The duration of a look-up does not tell another user's id from an unknown or a malformed one")
    func timing() async throws {
        let (fixture, places) = try await filled(100)
        let bob = Self.owners[0]
        let foreign = places.filter { $0.owner != bob }.map(\.id)
        let known = Set(places.map(\.id))
        var times: [String: [Double]] = [:]
        for round in 0..<42_000 {
            for kind in ["foreign", "unknown", "malformed"].shuffled() {
                var id: SecureID?
                if kind == "foreign" { id = foreign.randomElement() }
                while kind == "unknown", id.map(known.contains) ?? true { id = SecureID(Int64.random(in: 1..<1 << 31)) }
                let time = try await milliseconds {
                    let text = try await fixture.read(id, as: bob)
                    #expect(text == nil)
                }
                // The first look-ups fill caches.
                if round >= 2000 { times[kind, default: []].append(time) }
            }
        }
        let medians = times.mapValues { $0.sorted()[$0.count / 2] }
        let means = times.mapValues { all in
            // Without the slowest hundredth, which the system causes.
            let kept = all.sorted().prefix(all.count * 99 / 100)
            return kept.reduce(0, +) / Double(kept.count)
        }
        print("look-ups: medians \(medians) ms, means \(means) ms")
        for values in [medians, means] {
            let (shortest, longest) = (try #require(values.values.min()), try #require(values.values.max()))
            #expect(longest / shortest < 1.02, "\(values)")
        }
    }
}
