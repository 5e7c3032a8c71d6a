// A2AAgent of AG-UI: what its user sees.
import { A2AClient } from '@a2a-js/sdk/client'
import { A2AAgent } from '@ag-ui/a2a'
import { expect, expectText, runChecks } from './checks.mjs'

async function shown(text) {
  const a2aClient = new A2AClient(process.argv[2])
  const agent = new A2AAgent({ a2aClient, initialMessages: [{ id: '1', role: 'user', content: text }] })
  const { newMessages } = await agent.runAgent()
  return newMessages.map(({ content }) => content).join('')
}

await runChecks({
  text: async () => expect(await shown('echo grüße'), 'grüße'),
  answer: async () => expectText(await shown('both'), 'See the report.'),
  question: async () => expectText(await shown('ask'), 'Which colour?'),
})
