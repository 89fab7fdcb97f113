public import GatewayCore
public import GatewaySupport
internal import Synchronization

extension StoredSecureTexts: SecureTextStore {
    /// The number of random ids that are tried for one text. With a million texts in the store, one id in two thousand
    /// is in use.
    private static let attempts = 16

    /// Reserves an id and room for each recipient, in memory.
    public func reserve(_ text: NewSecureText) throws(SecureTextsFull) -> SecureTextReservation {
        let bytes = SecureTextCipher.length(ofSealed: text.text)
        let bounds = bounds
        var places: [SecureTextReservation.Place] = []
        var full: [UserName] = []
        let failure: SecureTextsFull? = usage.withLock { usage in
            for owner in text.owners {
                guard usage.total.hasRoom(for: bytes, within: bounds.texts, bounds.bytes) else {
                    for place in places { usage.remove(place, bytes: bytes) }
                    places = []
                    return SecureTextsFull("\(usage.total.texts) texts of \(usage.total.bytes) bytes are stored")
                }
                guard usage.amount(of: owner).hasRoom(for: bytes, within: bounds.textsPerUser, bounds.bytesPerUser),
                    let place = freePlace(for: owner, bytes, in: &usage)
                else {
                    full.append(owner)
                    continue
                }
                places.append(place)
            }
            return nil
        }
        if let failure { throw failure }
        return SecureTextReservation(places: places, full: full) { places throws(SecureTextsUnavailable) in
            try await self.write(text, to: places)
        } release: { places in
            self.release(places.map { SecureTextTables.Counted(place: $0, bytes: bytes) })
        }
    }

    private func freePlace(
        for owner: UserName, _ bytes: Int, in usage: inout SecureTextUsage
    ) -> SecureTextReservation.Place? {
        for _ in 0..<Self.attempts {
            guard let id = SecureID(random: randomness()) else { continue }
            let place = SecureTextReservation.Place(id: id, owner: owner)
            if usage.add(place, bytes: bytes) { return place }
        }
        return nil
    }

    private func write(
        _ text: NewSecureText, to places: [SecureTextReservation.Place]
    ) async throws(SecureTextsUnavailable) {
        if places.isEmpty { return }
        let written = await commits.write { [cipher] tables in
            for place in places {
                try tables.insert(
                    cipher.seal(text.text, place, expiry: text.expiry), place, key: cipher.fingerprint,
                    delivery: text.delivery, expiry: text.expiry)
            }
        }
        if case .failure(let error) = written { throw SecureTextsUnavailable(error.detail) }
    }

    /// Returns a text of the user.
    public func text(
        _ id: SecureID?, of user: UserName, now: WallTime
    ) async throws(SecureTextsUnavailable) -> SecureText? {
        // No text has the id 0.
        let number = id?.number ?? 0
        let found = await reads.read { [cipher] tables -> SecureText? in
            guard let sealed = try tables.text(number, of: user, key: cipher.fingerprint, now: now),
                let id = SecureID(Int64(number)),
                let text = cipher.open(
                    sealed.bytes, SecureTextReservation.Place(id: id, owner: user), expiry: sealed.expiry)
            else { return nil }
            return SecureText(id: id, text: text, wasFetched: sealed.wasFetched)
        }
        return try Self.value(found)
    }

    /// Returns the texts of the user that were not fetched yet, newest first.
    public func unfetched(
        by user: UserName, since: WallTime?, limit: Int, now: WallTime
    ) async throws(SecureTextsUnavailable) -> [UnfetchedText] {
        try Self.value(
            await reads.read { [cipher] tables in
                try tables.unfetched(by: user, since: since, limit: limit, key: cipher.fingerprint, now: now)
            })
    }

    private static func value<Value>(
        _ result: Result<Value, LedgerUnavailable>
    ) throws(SecureTextsUnavailable) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw SecureTextsUnavailable(error.detail)
        }
    }

    /// Marks a text as fetched, in the next group of changes.
    public func markFetched(_ id: SecureID, at now: WallTime) {
        commits.add { tables in
            try tables.markFetched(id, at: now)
            return {}
        }
    }

    /// Removes texts, in the next group of changes.
    public func remove(_ ids: [SecureID]) {
        if ids.isEmpty { return }
        commits.add { tables in
            let removed = try tables.remove(ids)
            return { self.release(removed) }
        }
    }
}
