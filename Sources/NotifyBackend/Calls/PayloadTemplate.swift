/// The payloads of the tutorial (contract: payloads). User and message are pasted in raw: whoever writes quotes or
/// angle brackets into a message writes JSON members or XML elements.
enum PayloadTemplate {
    /// The payload for a `pns` word in lower case; nil for a word without a payload.
    static func payload(pns: String, user: String, message: String) -> String? {
        let text = "From " + user + ": " + message
        switch pns {
        case "apns":
            return "{\"aps\":{\"alert\":\"" + text + "\"}}"
        case "gcm", "fcm":
            return "{ \"data\" : {\"message\":\"" + text + "\"}}"
        case "fcmv1":
            return "{ \"message\":{\"data\" : {\"message\":\"" + text + "\"}}}"
        case "wns":
            return "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">" + text
                + "</text></binding></visual></toast>"
        default:
            return nil
        }
    }
}
