import { agent, serve } from '../../../src/entries/index.ts'

const minute = 60_000
const day = 24 * 60 * minute

const echo = agent({ name: 'Echo' }, (turn) => turn.text)

export function start(directory: string) {
  return serve(echo, {
    directory,
    turns: { deadline: 10 * minute, inactivityTimeout: minute, queueLimit: 20, blockFor: 55_000 },
    retention: { ended: 30 * day, failed: 90 * day, answered: day, tombstones: 30 * day },
  })
}
