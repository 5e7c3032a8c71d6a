import { agent } from '../../../../src/core/node/local-agent.node.ts'

/** A name that attacks the page which shows it: markup, reversed text and a word without an end. */
export const hostileName = `<img src=x onerror="window.attacked=1">\u202egnp.exe ${'W'.repeat(100_000)}`

/** A durable agent with steps, calls to another agent, large events and hostile names. The first word selects. */
export const orders = agent({ name: 'Orders', recovery: 'resume' }, async (turn) => {
  const [word = '', argument = ''] = turn.text.split(' ')
  switch (word) {
    case 'steps':
      await turn.step('read the order', () => ({ order: 'A-1047', lines: 3 }))
      await turn.status('working', 'Packing')
      await turn.step('print the label', () => 'label-7')
      await turn.status('completed', 'The order is packed')
      return undefined
    case 'call':
      await turn.status('working', 'Calling the warehouse')
      await turn.call(argument, 'report')
      await turn.status('completed', 'The warehouse has answered')
      return undefined
    case 'large':
      await turn.data({ text: 'x'.repeat(200_000), end: 'here' }, 'large.json')
      await turn.status('completed', 'Large')
      return undefined
    case 'sleep':
      await turn.step('first half', () => 'stored')
      await turn.status('working', 'Half done')
      if (turn.attempt === 1) await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      turn.signal.throwIfAborted()
      await turn.step('second half', () => 'also stored')
      await turn.status('completed', 'Finished after a restart')
      return undefined
    case 'hostile': {
      const artifact = turn.artifact(hostileName, { description: hostileName })
      await artifact.write(hostileName)
      await artifact.close()
      await turn.file({ name: hostileName, mediaType: 'text/html', content: Buffer.from(hostileName) })
      await turn.fail(hostileName)
      return undefined
    }
    default:
      await turn.status('working', 'Waiting')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return undefined
  }
})
