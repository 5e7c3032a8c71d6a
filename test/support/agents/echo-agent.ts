import { agent } from '../../../src/core/agent/agent.ts'

/** Answers any text with a complete task: a status, an artifact in chunks, and a final status. */
export const echo = agent(
  { name: 'Echo', description: 'Says your words back to you, one at a time.' },
  async (turn) => {
    await turn.status('working', 'Listening')
    const echoed = turn.artifact('echo.txt')
    for (const word of turn.text.split(/(?<=\s)/)) await echoed.write(word)
    await echoed.close()
    await turn.status('completed', `You said: ${turn.text}`)
  },
)
