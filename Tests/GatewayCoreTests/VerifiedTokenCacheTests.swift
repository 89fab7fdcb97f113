import GatewayCore
import GatewaySupport
import Testing

@Suite("The cache of verified tokens")
struct VerifiedTokenCacheTests {
    private static func entry(_ period: Range<Int64> = 0..<1) throws -> VerifiedTokenCache.Entry {
        let user = try #require(UserName(canonical: "alice"))
        let (start, end) = (WallTime(seconds: period.lowerBound), WallTime(seconds: period.upperBound))
        return VerifiedTokenCache.Entry(identity: Identity(user: user, authenticator: "tokens"), period: start..<end)
    }

    private static func digest(_ number: Int) throws -> SHA256.Digest {
        try withUnsafeBytes(of: number) { try #require(SHA256.Digest(of: $0)) }
    }

    @Test("An entry gives its identity within its period alone")
    func period() throws {
        let entry = try Self.entry(10..<20)
        #expect(entry.identity(at: WallTime(microseconds: 9_999_999)) == nil)
        #expect(entry.identity(at: WallTime(seconds: 10)) != nil)
        #expect(entry.identity(at: WallTime(microseconds: 19_999_999)) != nil)
        #expect(entry.identity(at: WallTime(seconds: 20)) == nil)
    }

    @Test("The cache is bounded, and tokens that are used again stay in it")
    func bounded() throws {
        let cache = VerifiedTokenCache(capacity: 100)
        let kept = try Self.digest(0)
        cache.remember(try Self.entry(), as: kept)
        for number in 1..<10_000 {
            cache.remember(try Self.entry(), as: try Self.digest(number))
            #expect(cache.count <= 100)
            if number % 20 == 0 { #expect(cache.find(kept) != nil) }
        }
        #expect(try cache.find(Self.digest(1)) == nil)
    }
}
