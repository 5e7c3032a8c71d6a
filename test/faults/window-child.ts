import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { callOf, createTestRuntime, messageOf } from '../support/agents/test-runtime.ts'

/** What the process has seen. Everything in a report must be in the log, however the process ends. */
export type WindowReport =
  | { readonly type: 'seen'; readonly taskId: string; readonly generation: number; readonly text: string }
  | { readonly type: 'answered'; readonly taskId: string; readonly chunks: number }

const readers = 3
/** More than a window holds. Blocking calls have fewer, so that some are answered before the process is killed. */
const chunks = { streamed: 600, blocking: 300 }

/** Serves agents that await every chunk, reads their streams, and reports what it sees until it is killed. */
const [file = ''] = process.argv.slice(2)
const { service } = createTestRuntime(
  async (turn) => {
    const out = turn.artifact('numbers')
    const count = turn.text === 'blocking' ? chunks.blocking : chunks.streamed
    for (let number = 1; number <= count; number++) await out.write(`${turn.text}:${number} `)
  },
  { log: createSqliteLog({ file }) },
)
await Promise.all([...Array.from({ length: readers }, (_, number) => readForever(number)), sendForever()])

async function readForever(reader: number): Promise<void> {
  for (let round = 0; ; round++) {
    let taskId = ''
    for await (const event of service.streamMessage({ message: messageOf(`${reader}-${round}`) }, callOf())) {
      if (event.type === 'task') taskId = event.task.id
      if (event.type !== 'artifact') continue
      const text = event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
      report({ type: 'seen', taskId, generation: event.generation ?? 0, text })
    }
  }
}

async function sendForever(): Promise<void> {
  for (;;) {
    const answer = await service.sendMessage({ message: messageOf('blocking') }, callOf())
    if (answer.type !== 'task') continue
    const [part] = answer.task.artifacts[0]?.parts ?? []
    const text = part && 'text' in part ? part.text : ''
    report({ type: 'answered', taskId: answer.task.id, chunks: text.split(' ').length - 1 })
  }
}

function report(message: WindowReport): void {
  process.send?.(message)
}
