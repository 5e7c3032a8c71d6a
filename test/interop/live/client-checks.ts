import assert from 'node:assert/strict'
import type { Client } from '../../../src/client/client.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import { textOf } from '../../../src/protocol/model.ts'
import { isEnded } from '../../../src/protocol/states.ts'

const allBytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)

/** What our client does with the agent of another implementation. Throws if the agent answers anything else. */
export const clientChecks: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async card(client) {
    assert.equal(client.card.name, 'Interop')
  },
  async text(client) {
    assert.equal((await client.send('echo grüße')).text, 'grüße')
  },
  async files(client) {
    const file = { name: 'a.bin', mediaType: 'application/octet-stream', content: allBytes }
    const reply = await client.send([{ text: 'file' }, file])
    assert.deepEqual(reply.output.files[0]?.bytes, allBytes)
  },
  async streaming(client) {
    let text = ''
    for await (const event of client.stream('stream')) {
      if (event.type === 'artifact')
        text += event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
    }
    assert.equal(text, 'onetwothree')
  },
  async question(client) {
    const conversation = client.conversation()
    const { task } = await conversation.send('ask')
    assert.equal(task?.status.state, 'input-required')
    assert.equal(task.status.message && textOf(task.status.message), 'Which colour?')
    assert.equal((await conversation.send('green')).text, 'You chose green.')
  },
  async cancel(client) {
    const { task } = await client.send('wait', { returnImmediately: true })
    assert.ok(task && !isEnded(task.status.state))
    assert.equal((await client.task(task.id).cancel()).status.state, 'canceled')
  },
  async errors(client) {
    const error = await client
      .task('no-such-task')
      .get()
      .catch((caught: unknown) => caught)
    assert.ok(error instanceof A2AError)
    assert.equal(error.code, 'task-not-found')
  },
}
