import { agent } from 'parley-a2a'

/** Plays an old agent. Delete it, and server.ts, when gateway.yaml names yours. */
export const reporter = agent({ name: 'Reporter', description: 'Writes short reports' }, async (turn) => {
  const report = turn.artifact('report.md')
  for (const line of [`# ${turn.text}\n`, 'They grew by 7 %.\n']) await report.write(line)
  return 'The report is ready.'
})
