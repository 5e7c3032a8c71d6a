import { agent } from '../../../src/entries/index.ts'

export const reports = agent({ name: 'Reports', recovery: { policy: 'retry', attempts: 5 } }, async (turn) => {
  if (turn.attempt > 1) await turn.status('working', 'Starting over')
  await turn.artifact('report.md').close(`# ${turn.text}`)
})
