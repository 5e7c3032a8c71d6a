/** Traces: spans of OpenTelemetry, and W3C Trace Context. */

export type { Trace } from '../base/trace-context.ts'
export type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../protocol/telemetry.ts'
export { observeClient } from '../telemetry/observe-service.ts'
export { openTelemetry } from '../telemetry/open-telemetry.ts'
