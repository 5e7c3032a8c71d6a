export { createFallbacks } from './choose-endpoint.ts'

export { explainFailure } from './diagnostics/diagnose.ts'

export { retryCall } from './resilience/resilient-service.ts'
