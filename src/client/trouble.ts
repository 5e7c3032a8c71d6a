/** What is done when a call has failed, as one chunk that is loaded then. */
export { askAgain } from './ask-again.ts'
export { createDetours } from './detours.ts'
export { explain } from './mistakes.ts'
