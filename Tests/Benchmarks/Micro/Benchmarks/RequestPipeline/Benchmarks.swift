let benchmarks: @Sendable () -> Void = {
    measureFraming()
    measurePipeline()
    measureTokens()
    measureProviderTokens()
    measureLimiter()
    measureJSON()
    measureRecording()
    measureUpstream()
    measureFences()
}
