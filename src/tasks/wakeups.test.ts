import { expect, test } from 'vitest'
import { createWakeups } from './follow.ts'

const never = new AbortController().signal

test('a wake reaches everybody who waits for that task, and nobody else', async () => {
  const wakeups = createWakeups()
  const waiting = [wakeups.wait('a', never), wakeups.wait('a', never)]
  void wakeups.wait('b', never)
  wakeups.wake('a')
  await Promise.all(waiting)
  expect(wakeups.size).toBe(1)
})

test('a wake that nobody waits for is not remembered', () => {
  const wakeups = createWakeups()
  wakeups.wake('a')
  void wakeups.wait('a', never)
  expect(wakeups.size).toBe(1)
})

test('who left because the signal aborted is forgotten', async () => {
  const wakeups = createWakeups()
  const leaving = new AbortController()
  const waiting = Array.from({ length: 1_000 }, (_, index) => wakeups.wait(`${index % 10}`, leaving.signal))
  expect(wakeups.size).toBe(1_000)
  leaving.abort()
  await Promise.all(waiting)
  expect(wakeups.size).toBe(0)
  await wakeups.wait('a', leaving.signal)
  expect(wakeups.size).toBe(0)
})

test('a waiter that is woken and then aborted counts once', async () => {
  const wakeups = createWakeups()
  const leaving = new AbortController()
  const waiting = wakeups.wait('a', leaving.signal)
  wakeups.wake('a')
  leaving.abort()
  await waiting
  expect(wakeups.size).toBe(0)
})

test('all can be woken at once', async () => {
  const wakeups = createWakeups()
  const waiting = ['a', 'b', 'c'].map((taskId) => wakeups.wait(taskId, never))
  wakeups.wakeAll()
  await Promise.all(waiting)
  expect(wakeups.size).toBe(0)
})
