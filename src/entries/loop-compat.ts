export { AgentLoop, type CompatEvent } from '../loop/compat.ts'
