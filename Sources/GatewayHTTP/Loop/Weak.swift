/// A reference that does not own, for a closure that is made before its owner is.
final class Weak<Object: AnyObject> {
    weak var value: Object?
}
