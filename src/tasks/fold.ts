import type { ArtifactEvent, StoredEvent } from '../protocol/events.ts'
import type { Artifact, Message, Part, Task, TaskStatus } from '../protocol/model.ts'
import type { NewTask, Snapshot, TaskLog } from './log.ts'

/** Below this many events, refolding is cheaper than storing a snapshot. */
const minSnapshotEvents = 512

/** The part of a log that folding needs. */
export type FoldedLog = Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'>

/** The task as the sum of its events. It grows in place, so that the cost of an event does not depend on their number. */
export interface Fold {
  readonly generation: number
  apply(stored: StoredEvent): void
  /** The current task. Undefined until the exchange becomes a task. */
  task(): Task | undefined
  /** All messages, oldest first, also before the exchange becomes a task. */
  messages(): readonly Message[]
  snapshot(): Snapshot
}

/** Folds a task from its newest snapshot and the events after it. Stores a new snapshot if these were many. */
export async function loadFold(log: FoldedLog, task: NewTask): Promise<Fold> {
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot)
  for (;;) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) fold.apply(event)
  }
  const folded = fold.generation - (snapshot?.generation ?? 0)
  // Only if the number of events has doubled, so that the cost of snapshots per event is constant.
  if (folded >= minSnapshotEvents && folded >= (snapshot?.generation ?? 0)) await log.keepSnapshot(fold.snapshot())
  return fold
}

/**
 * Folds a task up to a generation, from which a reader continues. For the first event, the fold is empty: the reader can
 * start there without a read.
 */
export async function foldUntil(log: FoldedLog, task: NewTask, last: number): Promise<Fold> {
  if (last === 1) return createFold(task)
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot && snapshot.generation <= last ? snapshot : undefined)
  while (fold.generation < last) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) if (event.generation <= last) fold.apply(event)
  }
  return fold
}

/**
 * A writable view of a readonly type, for the code that creates the object. Members that change are plain values, because
 * a getter in an object literal gives every object its own hidden class, and these objects are created per request.
 */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function createFold({ taskId, contextId, owner }: NewTask, snapshot?: Snapshot): Fold {
  let status = snapshot?.status
  const history: Message[] = [...(snapshot?.history ?? [])]
  const artifacts = new Map<string, GrowingArtifact>()
  for (const artifact of snapshot?.artifacts ?? []) artifacts.set(artifact.artifactId, { artifact })

  /** A status message enters the history when it is replaced or answered, so that the history is in order of time. */
  function retireStatusMessage() {
    if (!status?.message) return
    history.push(status.message)
    status = withoutMessage(status)
  }

  const fold: Mutable<Fold> = {
    generation: snapshot?.generation ?? 0,
    apply(stored) {
      fold.generation = stored.generation
      const { event } = stored
      switch (event.type) {
        case 'message':
          retireStatusMessage()
          history.push(event.message)
          return
        case 'reply':
          history.push(event.message)
          return
        case 'status':
          retireStatusMessage()
          status = event.status
          return
        case 'artifact':
          addArtifact(artifacts, event)
          return
        case 'cancel':
        case 'journal':
          return
      }
    },
    task() {
      if (!status) return undefined
      const { generation } = fold
      return { id: taskId, contextId, status, artifacts: assemble(artifacts), history: [...history], generation }
    },
    messages: () => [...history],
    snapshot: () => ({
      taskId,
      contextId,
      owner,
      generation: fold.generation,
      status,
      artifacts: assemble(artifacts),
      history: [...history],
    }),
  }
  return fold
}

/** The status after its message has moved to the history. */
export function withoutMessage({ message: _, ...status }: TaskStatus): TaskStatus {
  return status
}

interface GrowingArtifact {
  artifact: Artifact
  /** All parts, once chunks were appended. */
  parts?: Part[]
}

function addArtifact(artifacts: Map<string, GrowingArtifact>, { artifact, append, lastChunk }: ArtifactEvent): void {
  const growing = append ? artifacts.get(artifact.artifactId) : undefined
  if (!growing) {
    artifacts.set(artifact.artifactId, { artifact })
    return
  }
  // The last chunk needs a part on the wire. An empty text in it is not content.
  const content = lastChunk ? artifact.parts.filter((part) => !isEmptyText(part)) : artifact.parts
  growing.parts ??= [...growing.artifact.parts]
  growing.parts.push(...content)
  const { metadata } = artifact
  if (metadata) growing.artifact = { ...growing.artifact, metadata: { ...growing.artifact.metadata, ...metadata } }
}

function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

function assemble(artifacts: ReadonlyMap<string, GrowingArtifact>): readonly Artifact[] {
  const all: Artifact[] = []
  for (const { artifact, parts } of artifacts.values()) all.push(parts ? { ...artifact, parts: [...parts] } : artifact)
  return all
}
