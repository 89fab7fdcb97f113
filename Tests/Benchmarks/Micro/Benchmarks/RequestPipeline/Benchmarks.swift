let benchmarks: @Sendable () -> Void = {
    measureFraming()
    measureTheWay()
    measureTokens()
    measureLimiter()
    measureJSON()
    measureRecording()
    measureUpstream()
}
