import { agent, serve } from 'parley-a2a'

/** The agent that pages call if they show only callers. */
const sample = agent({ name: 'Sample' }, async (turn) => {
  await turn.status('working')
  return `You said: ${turn.text}`
})
await serve(sample)
