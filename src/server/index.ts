export { createHandler, type Handler, type HandlerOptions } from './handler.ts'
