/** What is needed to tell what has failed, as one chunk that is loaded when something has. */
export { foreignAnswer } from './foreign-answer.ts'
export { readOddAnswer, readToldError } from './jsonrpc/failure.ts'
export { lostAnswer, notInDialect } from './lost-answer.ts'
export { brokenEvent, lookInto } from './odd-stream.ts'
export { readRefusal, readToldRefusal } from './rest/failure.ts'
