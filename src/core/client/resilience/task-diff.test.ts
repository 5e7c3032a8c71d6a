import { describe, expect, it } from 'vitest'
import { describeEvent } from '../../../../test/contracts/service/contract.ts'
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

const taskEvent: StreamEvent = { type: 'task', task: taskOf('working') }
const chunk = (text: string, append = true): StreamEvent => ({
  type: 'artifact',
  artifact: artifactOf([{ text }]),
  append,
  ...ref,
})

function diffAfter(...events: readonly StreamEvent[]) {
  const diff = createTaskDiff()
  for (const event of events) diff.record(event)
  return diff
}

describe('missingEvents', () => {
  it('a caller that has seen nothing gets the task itself', () => {
    expect(diffAfter().missingEvents(taskOf('working')).map(describeEvent)).toEqual(['task working'])
  })

  it('a caller that has seen everything gets nothing', () => {
    const task = taskOf('working', [artifactOf([{ text: 'a' }, { text: 'b' }])])
    expect(diffAfter(taskEvent, chunk('a', false), chunk('b')).missingEvents(task)).toEqual([])
    expect(diffAfter({ type: 'task', task }).missingEvents(task)).toEqual([])
  })

  it('the rest of an artifact, a new artifact and a new status come in this order', () => {
    const grown = [artifactOf([{ text: 'a' }, { text: 'b' }, { data: 1 }]), artifactOf([{ text: 'z' }], 'other')]
    expect(
      diffAfter(taskEvent, chunk('a'))
        .missingEvents(taskOf('completed', grown, 1))
        .map(describeEvent),
    ).toEqual(['artifact b|{"data":1}, more', 'artifact z', 'status completed'])
  })

  it('an artifact that was replaced comes as a whole', () => {
    const changed = taskOf('working', [artifactOf([{ text: 'b' }, { text: 'c' }])])
    expect(diffAfter(taskEvent, chunk('a')).missingEvents(changed).map(describeEvent)).toEqual(['artifact b|c'])
  })

  it('chunks whose texts the task has in one part are not missing, and the rest of that part is', () => {
    const joined = taskOf('working', [artifactOf([{ text: 'abc' }])])
    const missing = (...texts: string[]) =>
      diffAfter(taskEvent, ...texts.map((text) => chunk(text)))
        .missingEvents(joined)
        .map(describeEvent)
    expect(missing('a', 'bc')).toEqual([])
    expect(missing('a', 'b')).toEqual(['artifact c, more'])
    expect(missing('a', 'x')).toEqual(['artifact abc'])
  })

  it('an empty text that only closed an artifact is not missing', () => {
    const task = taskOf('working', [artifactOf([{ text: 'a' }])])
    expect(diffAfter(taskEvent, chunk('a'), chunk('')).missingEvents(task)).toEqual([])
    const withEmptyText = taskOf('working', [artifactOf([{ text: 'a' }, { text: '' }])])
    expect(diffAfter(taskEvent, chunk('a')).missingEvents(withEmptyText)).toEqual([])
  })

  it('parts are compared by content, not by carry or the order of members', () => {
    const event: StreamEvent = {
      type: 'artifact',
      artifact: artifactOf([{ raw: 'AA==', filename: 'f', mediaType: 'x/y', carry: { 'v0.3': {} } }]),
      ...ref,
    }
    const task = taskOf('working', [artifactOf([{ mediaType: 'x/y', filename: 'f', raw: 'AA==' }])])
    expect(diffAfter(taskEvent, event).missingEvents(task)).toEqual([])
    const other = taskOf('working', [artifactOf([{ data: { a: [2] } }])])
    const data: StreamEvent = { type: 'artifact', artifact: artifactOf([{ data: { a: [1] } }]), ...ref }
    expect(diffAfter(taskEvent, data).missingEvents(other).map(describeEvent)).toEqual(['artifact {"data":{"a":[2]}}'])
  })

  it('the final status comes again for a caller that has seen it', () => {
    const task = taskOf('completed')
    expect(diffAfter({ type: 'task', task }).missingEvents(task)).toMatchObject([{ type: 'status', isLast: true }])
  })
})

describe('changeIn', () => {
  it('an artifact from its start is reduced to its new parts', () => {
    const diff = diffAfter(taskEvent, chunk('a', false), chunk('b'))
    const again: StreamEvent = {
      type: 'artifact',
      artifact: artifactOf(['a', 'b', 'c'].map((text) => ({ text }))),
      ...ref,
    }
    expect(describeEvent(diff.changeIn(again) as StreamEvent)).toBe('artifact c, more')
    expect(diffAfter(taskEvent, again).changeIn(again)).toBeUndefined()
  })

  it('a repeated status is dropped', () => {
    const status: StreamEvent = { type: 'status', status: statusOf('working', 1), ...ref }
    expect(diffAfter(taskEvent).changeIn(status)).toBe(status)
    expect(diffAfter(taskEvent, status).changeIn(status)).toBeUndefined()
  })
})
