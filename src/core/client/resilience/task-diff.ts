import type { ArtifactEvent, StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Part, Task, TaskStatus } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'

const firstDigest = 0x811c9dc5

/** Finds the changes of a task that its caller has not seen. */
export interface TaskDiff {
  record(event: StreamEvent): void
  /** The events that bring the caller up to date with the task. */
  missingEvents(task: Task): readonly StreamEvent[]
  /** The event without the content that the caller has; undefined if nothing is left. */
  changeIn(event: StreamEvent): StreamEvent | undefined
}

export function createTaskDiff(fingerprint = createFingerprint()): TaskDiff {
  const { artifacts } = fingerprint

  /** The new parts of a complete artifact. */
  function changeInArtifact(artifact: Artifact): Pick<ArtifactEvent, 'artifact' | 'append'> | undefined {
    const earlier = artifacts.get(artifact.artifactId)
    if (!earlier) return { artifact }
    const content = contentOf(artifact)
    const [before, parts] = splitAfter(content, earlier.length)
    if (fingerprintOf(before).digest !== earlier.digest) return { artifact }
    return parts.length === 0 ? undefined : { artifact: { ...artifact, parts }, append: true }
  }

  return {
    record: (event) => recordEvent(fingerprint, event),
    missingEvents(task) {
      const isLast = isEnded(task.status.state)
      if (!fingerprint.hasTask) return [{ type: 'task', task, isLast }]
      const ref = { taskId: task.id, contextId: task.contextId, generation: task.generation }
      const events: StreamEvent[] = []
      for (const artifact of task.artifacts) {
        const change = changeInArtifact(artifact)
        if (change) events.push({ type: 'artifact', ...change, ...ref })
      }
      // The final status is always emitted, because nothing else ends the stream.
      if (isLast || statusFingerprint(task.status) !== fingerprint.status) {
        events.push({ type: 'status', status: task.status, ...ref, isLast })
      }
      return events
    },
    changeIn(event) {
      switch (event.type) {
        case 'message':
        case 'task':
          return event
        case 'status':
          return event.isLast || statusFingerprint(event.status) !== fingerprint.status ? event : undefined
        case 'artifact': {
          const change = event.append ? event : changeInArtifact(event.artifact)
          return change && { ...event, ...change }
        }
      }
    },
  }
}

export interface ArtifactFingerprint {
  /** Characters of text, and parts that are no text. Agents join the texts of chunks, or have a part for each. */
  readonly length: number
  readonly digest: number
}

/** What a caller has seen of a task, as digests instead of content: a stream may be longer than memory. */
export interface TaskFingerprint {
  readonly artifacts: Map<string, ArtifactFingerprint>
  status?: string
  hasTask: boolean
}

export function createFingerprint(): TaskFingerprint {
  return { artifacts: new Map(), hasTask: false }
}

export function recordEvent(fingerprint: TaskFingerprint, event: StreamEvent): void {
  if (event.type === 'message') return
  fingerprint.hasTask = true
  if (event.type === 'artifact') recordArtifact(fingerprint, event.artifact, event.append)
  else {
    const { status, artifacts } = event.type === 'task' ? event.task : { status: event.status, artifacts: [] }
    fingerprint.status = statusFingerprint(status)
    for (const artifact of artifacts) recordArtifact(fingerprint, artifact)
  }
}

function recordArtifact({ artifacts }: TaskFingerprint, artifact: Artifact, append?: boolean): void {
  const earlier = append ? artifacts.get(artifact.artifactId) : undefined
  artifacts.set(artifact.artifactId, fingerprintOf(contentOf(artifact), earlier))
}

function fingerprintOf(
  parts: readonly Part[],
  earlier: ArtifactFingerprint = { length: 0, digest: firstDigest },
): ArtifactFingerprint {
  let { length, digest } = earlier
  for (const part of parts) {
    length += lengthOf(part)
    digest = digestOf(part, digest)
  }
  return { length, digest }
}

/** The content up to that length, and the content after it. */
function splitAfter(parts: readonly Part[], length: number): readonly [readonly Part[], readonly Part[]] {
  let left = length
  for (const [index, part] of parts.entries()) {
    const [before, after] = [parts.slice(0, index), parts.slice(index + 1)]
    if (left === 0) return [before, [part, ...after]]
    if ('text' in part && part.text.length > left) {
      const [seen, text] = [part.text.slice(0, left), part.text.slice(left)]
      return [
        [...before, { ...part, text: seen }],
        [{ ...part, text }, ...after],
      ]
    }
    left -= lengthOf(part)
  }
  return [parts, []]
}

function lengthOf(part: Part): number {
  return 'text' in part ? part.text.length : 1
}

/** A digest of a part, which continues an earlier one. */
export function digestOf(part: Part, earlier = firstDigest): number {
  return hash('text' in part ? part.text : JSON.stringify(membersOf(part)), earlier)
}

/** FNV-1a with 32 bits: it has to find differences between two versions of one artifact, not forgeries. */
function hash(text: string, earlier: number): number {
  let digest = earlier
  for (let at = 0; at < text.length; at++) digest = Math.imul(digest ^ text.charCodeAt(at), 0x01000193)
  return digest >>> 0
}

/** The members of a part in a fixed order, without `carry`, which may differ between two answers of an agent. */
function membersOf(part: Part): unknown {
  const { text, url, raw, data, filename, mediaType, metadata } = { text: 0, url: 0, raw: 0, data: 0, ...part }
  return [text, url, raw, data, filename, mediaType, metadata]
}

/** Without empty texts, which close an artifact in some dialects and which not every agent stores. */
function contentOf({ parts }: Artifact): readonly Part[] {
  return parts.filter((part) => !('text' in part && part.text === ''))
}

function statusFingerprint({ state, timestamp, message }: TaskStatus): string {
  return JSON.stringify([state, timestamp, message?.parts.map(membersOf)])
}
