export { networkError, notA2AError, notInDialect } from './client/failures.ts'

export { brokenEvent, sniffStream } from './client/read-response.ts'

export { readOddAnswer, readToldError } from './jsonrpc/client.ts'

export { readRefusal, readToldRefusal } from './rest/client.ts'
