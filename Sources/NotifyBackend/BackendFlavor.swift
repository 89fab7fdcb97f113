/// The generation of notify-users backend that the embedded backend imitates.
///
/// All generations have the same four calls. Statuses, words, bodies and the position of the registration id differ
/// (contract: backend profiles). The raw value is the word on the command line and in the configuration.
public enum BackendFlavor: String, CaseIterable, Sendable {
    /// The tutorial's ASP.NET Web API 2 backend: quoted ids, lenient bodies, 500 where 401 is meant.
    case classic
    /// Microsoft's ASP.NET Core sample: unquoted ids, ids in the query only, strict bodies.
    case core
    /// A common port to .NET 6: unquoted ids in the path, `fcmv1`, hub failures reported as success.
    case net6
}
