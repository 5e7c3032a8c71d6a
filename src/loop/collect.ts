import type { Artifact, TaskStatus } from '../protocol/model.ts'
import { timestampNow } from '../protocol/timestamp.ts'
import type { LoopEvent } from './converse.ts'

/** What events come to: the last status, and the artifacts as a whole. */
export function collect(events: readonly LoopEvent[]): { status: TaskStatus; artifacts: readonly Artifact[] } {
  let status: TaskStatus = { state: 'completed', timestamp: timestampNow() }
  const artifacts = new Map<string, Artifact>()
  for (const event of events) {
    if (event.type === 'status') {
      status = event.status
      continue
    }
    const { artifact, append } = event
    const begun = append ? artifacts.get(artifact.artifactId) : undefined
    const parts = begun ? [...begun.parts, ...artifact.parts] : artifact.parts
    artifacts.set(artifact.artifactId, { ...begun, ...artifact, parts })
  }
  return { status, artifacts: [...artifacts.values()] }
}
