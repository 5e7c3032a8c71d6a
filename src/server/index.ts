export type { AuthChoice, AuthSettings } from './admission.ts'
export { createHandler, type Handler, type HandlerOptions } from './handler.ts'
export { createHost, type Host, type Place } from './host.ts'
export type { Resident } from './resident.ts'
