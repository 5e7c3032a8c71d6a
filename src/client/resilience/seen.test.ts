import { describe, expect, it } from 'vitest'
import { describeEvent } from '../../../test/contracts/service/contract.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Part, Task, TaskState } from '../../protocol/model.ts'
import { createTaskDiff } from './task-diff.ts'

const ref = { taskId: 't', contextId: 'c', generation: 0 }
const statusOf = (state: TaskState, second = 0) => ({ state, timestamp: `2026-05-01T08:00:0${second}.000Z` })

function artifactOf(parts: readonly Part[], artifactId = 'a'): Artifact {
  return { artifactId, parts }
}

function taskOf(state: TaskState, artifacts: readonly Artifact[] = [], second = 0): Task {
  return { id: 't', contextId: 'c', status: statusOf(state, second), artifacts, history: [], generation: 0 }
}

const began: StreamEvent = { type: 'task', task: taskOf('working') }
const chunk = (text: string, append = true): StreamEvent => ({
  type: 'artifact',
  artifact: artifactOf([{ text }]),
  append,
  ...ref,
})

function seenOf(...events: readonly StreamEvent[]) {
  const seen = createTaskDiff()
  for (const event of events) seen.record(event)
  return seen
}

describe('what is missing', () => {
  it('is the task itself, if nothing was told', () => {
    expect(seenOf().missingEvents(taskOf('working')).map(describeEvent)).toEqual(['task working'])
  })

  it('is nothing, if all was told', () => {
    const task = taskOf('working', [artifactOf([{ text: 'a' }, { text: 'b' }])])
    expect(seenOf(began, chunk('a', false), chunk('b')).missingEvents(task)).toEqual([])
    expect(seenOf({ type: 'task', task }).missingEvents(task)).toEqual([])
  })

  it('is the rest of an artifact, a new one, and another status, in this order', () => {
    const grown = [artifactOf([{ text: 'a' }, { text: 'b' }, { data: 1 }]), artifactOf([{ text: 'z' }], 'other')]
    expect(
      seenOf(began, chunk('a'))
        .missingEvents(taskOf('completed', grown, 1))
        .map(describeEvent),
    ).toEqual(['artifact b|{"data":1}, more', 'artifact z', 'status completed'])
  })

  it('is the whole of an artifact that is another now', () => {
    const changed = taskOf('working', [artifactOf([{ text: 'b' }, { text: 'c' }])])
    expect(seenOf(began, chunk('a')).missingEvents(changed).map(describeEvent)).toEqual(['artifact b|c'])
    const joined = taskOf('working', [artifactOf([{ text: 'ab' }])])
    expect(seenOf(began, chunk('a'), chunk('b')).missingEvents(joined).map(describeEvent)).toEqual(['artifact ab'])
  })

  it('is never the empty text that only closed an artifact', () => {
    const task = taskOf('working', [artifactOf([{ text: 'a' }])])
    expect(seenOf(began, chunk('a'), chunk('')).missingEvents(task)).toEqual([])
    const kept = taskOf('working', [artifactOf([{ text: 'a' }, { text: '' }])])
    expect(seenOf(began, chunk('a')).missingEvents(kept)).toEqual([])
  })

  it('is told by what parts say, not by what their dialect keeps or how they are written', () => {
    const told: StreamEvent = {
      type: 'artifact',
      artifact: artifactOf([{ raw: 'AA==', filename: 'f', mediaType: 'x/y', carry: { kept: 1 } }]),
      ...ref,
    }
    const task = taskOf('working', [artifactOf([{ mediaType: 'x/y', filename: 'f', raw: 'AA==' }])])
    expect(seenOf(began, told).missingEvents(task)).toEqual([])
    const other = taskOf('working', [artifactOf([{ data: { a: [2] } }])])
    const data: StreamEvent = { type: 'artifact', artifact: artifactOf([{ data: { a: [1] } }]), ...ref }
    expect(seenOf(began, data).missingEvents(other).map(describeEvent)).toEqual(['artifact {"data":{"a":[2]}}'])
  })

  it('is the end, also for those who knew of it', () => {
    const task = taskOf('completed')
    expect(seenOf({ type: 'task', task }).missingEvents(task)).toMatchObject([{ type: 'status', isLast: true }])
  })
})

describe('what is new in an event', () => {
  it('that tells an artifact from its start is what comes after the known part', () => {
    const seen = seenOf(began, chunk('a', false), chunk('b'))
    const again: StreamEvent = {
      type: 'artifact',
      artifact: artifactOf(['a', 'b', 'c'].map((text) => ({ text }))),
      ...ref,
    }
    expect(describeEvent(seen.changeIn(again) as StreamEvent)).toBe('artifact c, more')
    expect(seenOf(began, again).changeIn(again)).toBeUndefined()
  })

  it('that tells a status again is nothing', () => {
    const status: StreamEvent = { type: 'status', status: statusOf('working', 1), ...ref }
    expect(seenOf(began).changeIn(status)).toBe(status)
    expect(seenOf(began, status).changeIn(status)).toBeUndefined()
  })
})
