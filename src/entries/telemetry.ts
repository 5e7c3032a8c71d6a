/** Traces: spans of OpenTelemetry, and W3C Trace Context. */

export type { Trace } from '../core/base/trace-context.ts'
export type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../core/protocol/telemetry.ts'
export { observeClient } from '../core/telemetry/observe-service.ts'
export { openTelemetry } from '../core/telemetry/open-telemetry.ts'
