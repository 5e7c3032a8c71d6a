import { expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import { createHouseDialect, v0_3House } from './server.ts'

const late = { reason: 'INPUT_TIMEOUT', timeoutSeconds: 300 }
const event = (more: object): StreamEvent =>
  ({
    type: 'status',
    taskId: 't-1',
    contextId: 'c',
    generation: 3,
    status: { state: 'failed', timestamp: '2026-05-01T08:00:00.000Z' },
    isLast: true,
    ...more,
  }) as StreamEvent
const message = { messageId: 'm', role: 'agent', parts: [], metadata: late }

const house = createHouseDialect({ timeoutAsError: true })

it('a task that failed for want of an answer is an error, too, if that is asked for', () => {
  const withMessage = { state: 'failed', timestamp: '2026-05-01T08:00:00.000Z', message }
  const task = { id: 't-1', contextId: 'c', status: withMessage, artifacts: [], history: [], generation: 3 }
  const told: StreamEvent = { type: 'task', task, isLast: true } as StreamEvent
  for (const failed of [event({ metadata: late }), event({ status: withMessage }), told]) {
    expect(house.errorAfter?.(failed)).toMatchObject({
      code: 'input-timeout',
      metadata: { taskId: 't-1', timeoutSeconds: '300' },
    })
    expect(v0_3House.errorAfter?.(failed)).toBeUndefined()
  }
  const legacy = createHouseDialect({ timeoutAsError: true, legacyCodes: true })
  const error = legacy.errorAfter?.(event({ metadata: late }))
  expect(error && legacy.encodeError(error)).toMatchObject({
    code: -32001,
    message: 'Input timeout',
    data: { reason: 'INPUT_TIMEOUT', taskId: 't-1', timeoutSeconds: 300 },
  })
})

it('any other end is none', () => {
  const status = { state: 'canceled', timestamp: '2026-05-01T08:00:00.000Z', message }
  const others = [
    event({}),
    event({ metadata: { reason: 'OTHER' } }),
    event({ status }),
    event({ isLast: false, metadata: late }),
  ]
  expect(others.map((other) => house.errorAfter?.(other))).toEqual([undefined, undefined, undefined, undefined])
  expect(house.errorAfter?.({ type: 'message', message: { messageId: 'm', role: 'agent', parts: [] } })).toBeUndefined()
})
