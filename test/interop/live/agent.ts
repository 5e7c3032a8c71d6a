import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { ServeOptions, Server } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { silentLogger } from '../../support/logger.ts'

/**
 * The agent that the clients of other implementations call, live and from recordings. The first word of a message says
 * what it does. It never waits longer than it must, so that recorded streams have the same events every time.
 */
async function answer(turn: Turn) {
  const [word = '', ...rest] = turn.text.split(' ')
  switch (word) {
    case 'file': {
      const files = turn.message.parts.filter((part) => 'raw' in part)
      // The number shows a file that was misread, and would be written back as it came.
      const description = `${files.map(({ raw }) => Buffer.from(raw, 'base64').length).join()} bytes`
      await turn.artifact('file', { description }).close(files)
      return undefined
    }
    case 'stream': {
      const artifact = turn.artifact('chunks')
      await artifact.write('one')
      await artifact.write('two')
      await artifact.close('three')
      return undefined
    }
    case 'both':
      await turn.artifact('report').close('numbers')
      return 'See the report.'
    case 'ask':
      return `You chose ${(await turn.ask('Which colour?')).text}.`
    case 'wait':
      await turn.status('working')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
      return undefined
    default:
      return rest.join(' ')
  }
}

/** `grpc` says how the card names gRPC, and `dialects` which card callers get that name no version. */
export type InteropAgentOptions = Pick<ServeOptions, 'grpc' | 'dialects'>

export function serveInteropAgent(directory: string, options: InteropAgentOptions = {}): Promise<Server> {
  const inputModes = ['text/plain', 'application/json', 'application/octet-stream']
  return serve(agent({ name: 'Interop', description: 'Answers the checks.', inputModes }, answer), {
    port: 0,
    directory,
    grpc: true,
    signals: false,
    logger: silentLogger,
    drainDeadline: 0,
    turns: { taskAfter: 10_000 },
    ...options,
  })
}
