import { expect, it } from 'vitest'
import { cut, relativeTime, stateFormat } from './table.ts'
import { matchTaskId, shortIdOf } from './task-ids.ts'

it('times are told by how long ago they were', () => {
  const now = Date.parse('2026-03-10T12:00:00Z')
  const ago = (seconds: number) => relativeTime(now - seconds * 1000, now)
  expect([0, 30, 90, 7200, 3 * 86_400].map(ago)).toEqual(['now', '30 s ago', '1 min ago', '2 h ago', '3 d ago'])
  expect([ago(90 * 86_400), relativeTime(undefined), relativeTime('never')]).toEqual([
    '2025-12-10',
    'unknown',
    'unknown',
  ])
})

it('states have their color in every spelling', () => {
  expect(['failed', 'TASK_STATE_INPUT_REQUIRED', 'other'].map(stateFormat)).toEqual(['red', 'yellow', undefined])
})

it('long texts are cut to one line', () => {
  expect([cut('a\n b', 10), cut('abcdefgh', 5)]).toEqual(['a b', 'abcd…'])
})

it('a short id is the end that only one task has', () => {
  const ids = ['0199-aaaaaa111111', '0199-bbbbbb111111', '0199-cccccc222222']
  expect(ids.map((id) => shortIdOf(id, ids))).toEqual(['a111111', 'b111111', '222222'])
  expect([matchTaskId('222222', ids), matchTaskId('0199-c', ids), matchTaskId('nothing', ids)]).toEqual([
    ids[2],
    ids[2],
    'nothing',
  ])
  expect(() => matchTaskId('111111', ids)).toThrow('2 tasks have the short id 111111')
})
