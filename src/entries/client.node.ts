export { connect } from '../node/guarded-fetch/connect.ts'
export * from './client.ts'
