export { foreignAnswer, lostAnswer, notInDialect } from './client/failures.ts'
export { brokenEvent, lookInto } from './client/read-response.ts'
export { readOddAnswer, readToldError } from './jsonrpc/client.ts'
export { readRefusal, readToldRefusal } from './rest/client.ts'
