import type { Run } from './agent.ts'
import type { ArtifactWriter } from './artifact-writer.ts'
import type { Content } from './content.ts'
import type { Turn } from './turn.ts'

/** Runs an author's function, of whichever form, to its end, and gives what it returned. */
export async function perform(run: Run, turn: Turn, becomesTask: () => void): Promise<Content | undefined> {
  const running = run(turn)
  if (!isAsyncIterable(running)) return (await running) ?? undefined

  becomesTask()
  let output: ArtifactWriter | undefined
  const steps = running[Symbol.asyncIterator]()
  for (;;) {
    const step = await steps.next()
    if (step.done) {
      await output?.close()
      return step.value ?? undefined
    }
    if (step.value === undefined) continue
    output ??= turn.artifact('response')
    await output.write(step.value)
  }
}

function isAsyncIterable<T>(value: unknown): value is AsyncIterable<T, T> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
