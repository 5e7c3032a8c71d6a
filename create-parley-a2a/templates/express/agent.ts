import { agent } from 'parley-a2a'

/** Writes a report, after asking for what it needs to know. */
export const reporter = agent(
  { name: 'Reporter', description: 'Writes short reports', recovery: 'resume' },
  async (turn) => {
    const period = await turn.ask('For which period?')
    await turn.status('working', `Reading the figures of ${period.text}`)
    const report = turn.artifact('report.md')
    for (const line of [`# ${turn.text}\n`, `In ${period.text} they grew by 7 %.\n`]) await report.write(line)
    return 'The report is ready.'
  },
)
