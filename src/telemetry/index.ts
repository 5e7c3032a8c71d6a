export type { Activity, Fact, Learned, Span, Telemetry } from '../protocol/telemetry.ts'
export { readTrace, type Trace, traceHeaders } from '../protocol/trace.ts'
export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
export { watchClient } from './watch-client.ts'
