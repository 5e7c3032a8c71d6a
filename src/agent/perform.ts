import type { ArtifactWriter } from './artifact-writer.ts'
import type { Content } from './content.ts'
import { isSubscribable, iterate } from './subscribable.ts'
import type { Turn } from './turn.ts'
import { type Direct, type DirectRun, isAsyncIterable, isEvent, type Result, type Said } from './work.ts'

/** Runs an author's function, of whichever form, to its end, and gives what it returned. */
export async function perform(run: DirectRun, turn: Turn, direct: Direct): Promise<Content | undefined> {
  const running = run(turn, direct)
  if (isSubscribable<Said>(running)) return await tell(iterate(running, turn.signal), turn, direct)
  if (isAsyncIterable<Said, Result>(running)) return await tell(running, turn, direct)
  return (await running) ?? undefined
}

async function tell(
  running: AsyncIterable<Said, Result>,
  turn: Turn,
  { emit, becomesTask }: Direct,
): Promise<Content | undefined> {
  becomesTask()
  let output: ArtifactWriter | undefined
  const steps = running[Symbol.asyncIterator]()
  for (;;) {
    const step = await steps.next()
    if (step.done) {
      await output?.close()
      return step.value ?? undefined
    }
    const said = step.value
    if (said === undefined) continue
    if (isEvent(said)) {
      await emit(said)
      continue
    }
    output ??= turn.artifact('response')
    await output.write(said)
  }
}
