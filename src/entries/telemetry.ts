export { readTrace, type Trace, traceHeaders } from '../base/trace-context.ts'
export type { Activity, Fact, Learned, Span, Telemetry } from '../protocol/telemetry.ts'
export { watchClient } from '../telemetry/observe-service.ts'
export { type OpenTelemetryOptions, openTelemetry } from '../telemetry/open-telemetry.ts'
