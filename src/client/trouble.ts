export { createDetours } from './choose-endpoint.ts'
export { explain } from './diagnostics/diagnose.ts'
export { askAgain } from './resilience/resilient-service.ts'
