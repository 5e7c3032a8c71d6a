export { connect } from '../core/node/guarded-fetch/connect.ts'
export * from './client.ts'
