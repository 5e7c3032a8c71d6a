// A2AAgent of Mastra: what its user sees, streamed and not.
import { A2AAgent } from '@mastra/core/a2a'
import { expect, expectText, runChecks } from './checks.mjs'

const url = `${process.argv[2]}/.well-known/agent-card.json`
const versions = ['0.3', '1.0']
const create = (protocolVersion) => new A2AAgent({ url, protocolVersion })

/** Every text that is shown, in both versions, generated and streamed. */
async function shown(text) {
  const answers = versions
    .map(create)
    .flatMap((agent) => [
      agent.generate(text).then((result) => result.text),
      agent.stream(text).then((result) => result.text),
    ])
  return await Promise.all(answers)
}

await runChecks({
  card: async () => expect((await create('0.3').getAgentCard()).name, 'Interop'),
  text: async () => {
    for (const text of await shown('echo grüße')) expect(text, 'grüße')
  },
  streaming: async () => {
    // `generate` puts every part of an artifact into a line of its own.
    for (const text of await shown('stream')) expect(text.replaceAll('\n', ''), 'onetwothree')
  },
  answer: async () => {
    for (const text of await shown('both')) expectText(text, 'numbers')
  },
})
