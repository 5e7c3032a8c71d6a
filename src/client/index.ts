export { connect } from './connect.ts'
export * from './surface.ts'
