/** The loop as a class, for code that was written against another loop and the JSON of A2A 0.3. Needs RxJS. */

export { AgentLoop, type CompatEvent } from '../loop/compat.ts'
