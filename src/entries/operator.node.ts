export { createOperatorClient } from '../serve/operator-client.ts'
export * from './operator.ts'
