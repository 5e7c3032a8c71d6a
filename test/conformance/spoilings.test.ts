import { checkSpoilings } from './check-spoilings.ts'
import { spoilings } from './spoilings.ts'

// Every sixth: the slow tests check all of them, by all rules.
const some = spoilings.filter((_, index) => index % 6 === 0)
await checkSpoilings(some, { isQuick: true })
