internal import GatewayCore

/// The numbers of stored and reserved texts and their bytes, in all and of each recipient, and their ids.
struct SecureTextUsage {
    /// A number of texts and of their sealed bytes.
    struct Amount: Hashable {
        var texts = 0
        var bytes = 0

        /// Returns whether one more text fits.
        func hasRoom(for length: Int, within texts: Int, _ bytes: Int) -> Bool {
            self.texts < texts && self.bytes + length <= bytes
        }
    }

    private(set) var total = Amount()
    private var owners: [UserName: Amount] = [:]
    private var ids: Set<SecureID> = []

    /// Returns what a recipient uses.
    func amount(of owner: UserName) -> Amount { owners[owner] ?? Amount() }

    /// Adds a text. Returns false, and changes nothing, if its id is in use.
    mutating func add(_ place: SecureTextReservation.Place, bytes: Int) -> Bool {
        guard ids.insert(place.id).inserted else { return false }
        total.texts += 1
        total.bytes += bytes
        owners[place.owner, default: Amount()].texts += 1
        owners[place.owner, default: Amount()].bytes += bytes
        return true
    }

    /// Removes a text. Ignores one that is not counted.
    mutating func remove(_ place: SecureTextReservation.Place, bytes: Int) {
        guard ids.remove(place.id) != nil else { return }
        total.texts -= 1
        total.bytes -= bytes
        guard var rest = owners[place.owner] else { return }
        rest.texts -= 1
        rest.bytes -= bytes
        owners[place.owner] = rest.texts > 0 ? rest : nil
    }
}
