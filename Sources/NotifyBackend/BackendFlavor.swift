/// Which generation of notify-users backend the embedded backend plays.
///
/// The four calls are the same in all of them; statuses, words, bodies and the place of the registration id differ
/// (contract: backend profiles). The raw value is the word used on the command line and in the configuration.
public enum BackendFlavor: String, CaseIterable, Sendable {
    /// The tutorial's ASP.NET Web API 2 backend: quoted ids, lenient bodies, 500 where 401 was meant.
    case classic
    /// Microsoft's ASP.NET Core sample: unquoted ids, ids in the query only, strict bodies.
    case core
    /// A common port to .NET 6: unquoted ids in the path, `fcmv1`, hub failures answered as success.
    case net6
}
