internal import GatewayCore
internal import NIOCore

/// The party that a turn belongs to.
enum TurnOwner: Hashable {
    /// All connections of one network, see `Peer.network`. A client gains no turns by opening more connections.
    case network(Peer.Address)
    /// One connection of a trusted proxy or a Unix socket, which carries the calls of many clients.
    case connection(ObjectIdentifier)
}

/// A queue in which owners take turns, and so do the elements of each owner, in order of arrival. An element therefore
/// waits for at most one element of every other owner before each element of its own. Every change takes constant
/// time.
struct TurnQueue<Element> {
    /// The owners with elements, in the order of their turns.
    private var owners = CircularBuffer<TurnOwner>()
    private var elements: [TurnOwner: CircularBuffer<Element>] = [:]

    /// Whether the queue contains no element.
    var isEmpty: Bool { owners.isEmpty }

    /// Appends an element to those of its owner.
    mutating func append(_ element: Element, of owner: TurnOwner) {
        if elements[owner] == nil { owners.append(owner) }
        elements[owner, default: CircularBuffer(initialCapacity: 1)].append(element)
    }

    /// Removes and returns the first element of the owner whose turn it is.
    mutating func popFirst() -> Element? {
        guard let owner = owners.popFirst(), let element = elements[owner]?.popFirst() else { return nil }
        if elements[owner]?.isEmpty == false { owners.append(owner) } else { elements[owner] = nil }
        return element
    }
}
