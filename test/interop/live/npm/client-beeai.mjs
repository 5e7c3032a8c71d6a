// A2AAgent of BeeAI: what its user sees.
import { A2AAgent } from 'beeai-framework/adapters/a2a/agents/agent'
import { UnconstrainedMemory } from 'beeai-framework/memory/unconstrainedMemory'
import { expect, expectText, runChecks } from './checks.mjs'

async function shown(text) {
  const agent = new A2AAgent({ url: process.argv[2], memory: new UnconstrainedMemory() })
  const { result } = await agent.run({ input: text })
  return result.text
}

await runChecks({
  text: async () => expect(await shown('echo grüße'), 'grüße'),
  streaming: async () => expectText(await shown('stream'), 'three'),
  answer: async () => expectText(await shown('both'), 'See the report.'),
  question: async () => expectText(await shown('ask'), 'Which colour?'),
})
