let benchmarks: @Sendable () -> Void = {
    measureFraming()
    measurePipeline()
    measureTokens()
    measureLimiter()
    measureJSON()
    measureRecording()
    measureUpstream()
    measureFences()
}
